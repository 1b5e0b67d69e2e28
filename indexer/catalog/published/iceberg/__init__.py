"""The open data as Apache Iceberg tables, which follow the exports in a process of their own.

Owns the warehouse's files and the tables' entries in the catalogue. Promises: each table has one snapshot for
each state that it followed, which has the state's number; a run that is cut short leaves every table whole.
"""
