"""Probing and transcoding of untrusted media in a sandboxed process."""
