"""Strangers' SQL over the published tables: one statement in one process, which can do nothing else.

`queries.py` starts and ends the processes, `query_process.py` is what they do, `statement.py` decides what a
statement may contain. Promises: nothing but the published tables can be read, nothing can be written, and
time, memory and the size of the answer are bounded. The sandbox keeps them even where the check errs.
"""
