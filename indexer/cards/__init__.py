"""Rows -> search documents: what a request is answered with, made ready when something changes.

Owns what cards say. Promises: a document is a function of the rows alone, so rendering again is harmless.
Leaves to readapi: everything that depends on who asks.
"""
