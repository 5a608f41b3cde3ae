"""Accounts, charges and the chain of entries, durable in SQLite or Postgres."""
