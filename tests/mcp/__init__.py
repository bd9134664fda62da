"""The relay of MCP messages; the tests that need the `mcp` SDK are in `agents`."""
