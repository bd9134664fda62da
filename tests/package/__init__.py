"""The package as a whole: architecture, errors, limits, memory, threads, types, documentation."""
