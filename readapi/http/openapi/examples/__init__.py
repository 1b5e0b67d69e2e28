"""One example of every operation, as the interface's description shows it.

Owns the values, all about one artist; the description puts them at parameters, bodies and answers.
Promises: a test sends each to a running service, which answers in the same shape.
"""
