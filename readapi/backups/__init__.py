"""Backups of all the service's data, made while it runs, and restored into an empty folder.

Owns the format of a backup on disk.
Promises: a folder with a backup's name is complete; it has every audio file that its state database refers
to; a damaged backup is refused before anything is written.
Forbidden: code that handles requests.
"""
