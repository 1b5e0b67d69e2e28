"""The migrations of the state database's schema."""
