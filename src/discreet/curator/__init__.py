"""Datasets, analysts, budgets, ledger and stored releases: the path that joins them."""
