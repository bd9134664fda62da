"""Compression claims."""
