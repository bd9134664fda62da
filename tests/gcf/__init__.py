"""GCF, generic profile."""
