"""What everything agrees on: names, ids, record shapes, tables, settings, who may see what.

Promises: imports nothing of ours and does nothing; every function here is values in, values out.
"""
