"""Tests of pages, players and the Portal: over HTTP, and in a real browser."""
