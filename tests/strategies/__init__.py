"""Hypothesis strategies and generators shared by the tests."""
