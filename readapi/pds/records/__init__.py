"""The records that accounts write: likes, comments, lists, profiles, tracks, scrobbles.

Owns the content of each record and its rules. Leaves to Writing how it gets to its author's server, and to
the routes who is authorized.
"""
