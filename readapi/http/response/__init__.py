"""HTTP responses: their headers, their bodies as bytes, and their caching."""
