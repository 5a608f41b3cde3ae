"""Composition of guarantees that are fixed in advance."""
