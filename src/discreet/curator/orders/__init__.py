"""Kinds of orders: how each is read, priced, explained, measured and presented."""
