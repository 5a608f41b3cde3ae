"""Families of guarantees and what each can compute."""
