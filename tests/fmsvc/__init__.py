"""Tests of the client that users install."""
