"""Budgets for questions that are chosen from earlier answers: charges, filters, odometers."""
