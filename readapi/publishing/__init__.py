"""What artists publish: received, put in its place, written to their own servers, changed later.

Owns uploads and publishing jobs, and the worker that goes on with them after any crash.
Promises: what was acknowledged becomes one record or a clear failure, never two records, and leaves nothing
behind.
Leaves to readapi.audio: what is in a file and how it is heard; to readapi.writing: how records are written.
"""
