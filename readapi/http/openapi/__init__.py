"""The description of the interface (OpenAPI 3.1), made from the endpoints, with an example of each."""
