"""The HTML pages: a module a page or a group of them, a function an endpoint."""
