"""A token endpoint that keeps the rules of the real one: a refresh token works once, and a replay revokes."""
