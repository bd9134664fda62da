"""MCP: the results of tools are shrunk between a server and the model, with one changed line.

`compactwire mcp proxy -- COMMAND` runs an MCP server and relays between it and its host. See
`docs/mcp.md`.
"""
