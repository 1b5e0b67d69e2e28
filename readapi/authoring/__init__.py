"""What people write, record by record: likes, comments, lists, profiles, tracks, scrobbles.

Says what goes into a record, and what may not. Leaves to Writing how it gets to its author's server, and to
the routes who may ask.
"""
