"""A batch of changes -> one transaction. `transaction.py` is its order; everything else serves it."""
