"""The JSON API: one module per resource, one function per endpoint."""
