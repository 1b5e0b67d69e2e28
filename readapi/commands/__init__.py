"""What each command of the command line runs: a module a command, or a few that are run on the same thing.

The composition root: the only modules that know both the indexer and the API. A command's module is imported
when it is run, so that a worker does not carry the indexer's libraries in memory.
"""
