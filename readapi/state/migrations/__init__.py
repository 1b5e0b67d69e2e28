"""The state database's schema, step by step."""
