"""Rows -> search documents: the content of the API's answers, rendered when a record changes.

Owns what cards say. Promises: a document is a function of the rows alone, so rendering again is harmless.
Leaves to readapi: everything that depends on who asks.
"""
