"""GCF, graph profile, and the wire codecs."""
