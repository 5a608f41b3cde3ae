"""Certified arithmetic that guarantees and accountants stand on."""
