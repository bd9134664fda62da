"""The test suite of compactwire."""
