"""The live feed: every public change, from the change log to many clients, exactly once and in order.

Owns nothing: a client's position is its own, and each worker follows the files of the log by itself.
Promises: a client that resumes from the last position it received misses nothing and receives nothing twice;
what is taken down or has ceased to be public is not sent again.
Leaves to the indexer: what is published, and in which order.
"""
