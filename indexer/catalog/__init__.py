"""The catalogue: every record of ours in DuckDB, written by one transaction after another.

Owns the file, its tables and its snapshots. `writing/transaction.py` is the order inside a transaction.
Promises: the cursor moves in the transaction that holds what came before it, and any order of arrival gives
the same rows.
Leaves to search: what is found; to stream and repo: what a commit says.
"""
