"""`shrink`, `expand` and the token estimate."""
