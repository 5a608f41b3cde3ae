"""Budgets that belong to people: their balances, limits and statements."""
