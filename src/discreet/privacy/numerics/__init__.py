"""Certified arithmetic that guarantees and accountants use."""
