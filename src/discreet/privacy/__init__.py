"""Guarantees, their composition, and the budgets that guard them; knows no data."""

from discreet.argument_names import exports

__getattr__, __all__ = exports(__name__)
