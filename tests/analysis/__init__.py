"""Measuring: `compactwire.analysis`, benches and notebooks."""
