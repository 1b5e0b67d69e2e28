"""Publishing: uploads are received, their audio is placed, their records written and changed later.

Owns uploads and publishing jobs, and the worker that goes on with them after any crash.
Promises: an acknowledged upload becomes one record or a clear failure, never two records, and leaves no
files behind.
Leaves to readapi.audio: probing, transcoding and streaming; to readapi.pds: how records are written.
"""
