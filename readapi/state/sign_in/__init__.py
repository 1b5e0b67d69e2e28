"""The stored state of sign-in: sessions, grants, tokens, authorization requests."""
