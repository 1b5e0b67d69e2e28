"""Definitions shared by both programs: ids, record types, tables, settings, access rules, API shapes.

Promises: imports no other package of the project; but for `heap`, every function is values in, values out.
"""
