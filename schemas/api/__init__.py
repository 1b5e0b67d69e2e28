"""The shapes that the API answers with, field for field. Clients in the wild rely on every name.

A field typed `… | None` without a default is always present and may be null.
"""
