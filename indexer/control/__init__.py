"""The running indexer's control socket: health, metrics, nudges, proofs, dead letters, repairs.

Its clients are the API and the operator's commands. Promises: nothing here changes the content of a record.
"""
