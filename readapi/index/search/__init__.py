"""A query as a person typed it -> ranked matches."""
