"""Standing questions: one price, an answer in every period."""
