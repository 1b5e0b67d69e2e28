"""The JSON API: a module a resource, a function an endpoint."""
