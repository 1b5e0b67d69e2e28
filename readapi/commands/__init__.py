"""The commands of the command line: one module for each command, or for a few related ones.

The composition root: only these modules import both the indexer and the API. A command's module is imported
when it is run, so that a worker does not hold the indexer's libraries in memory.
"""
