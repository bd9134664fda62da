"""Tests of `compactwire.analysis`, the benches and the notebooks."""
