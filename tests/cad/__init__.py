"""CAD IR."""
