"""The command `compactwire`."""
