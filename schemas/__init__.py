"""Definitions shared by both programs: ids, record types, tables, settings, access rules, API shapes.

Promises: imports no other package of the project. Only `heap`, `control_socket`, `buckets`, `state_reader`
and its users `labels`, `play_counts` and `takedowns` act. All other functions are values in, values out; some
also read the clock, a random number, or what a folder holds.
"""
