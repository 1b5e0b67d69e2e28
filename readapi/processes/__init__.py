"""Composition of the API's processes: the worker that serves requests and the job worker."""
