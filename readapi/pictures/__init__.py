"""Pictures of records in the sizes that pages show.

Owns the cache of pictures. Promises: a picture is fetched from its account's server and decoded once, in a
sandboxed process, and only its pixels are kept. Leaves to callers: who may see the record that names it.
"""
