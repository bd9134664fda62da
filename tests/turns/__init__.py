"""Numbered turns and the stores of a server."""
