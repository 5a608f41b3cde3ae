"""Models as orders: estimators, and training runs of torch models."""
