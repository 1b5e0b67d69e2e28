"""Audio: storage, probing, transcoding, and streaming and download for entitled viewers.

Owns the audio store (a folder, or S3 by URL), the cache of blobs from artists' PDSes, and renditions.
Promises: fetched bytes are served only after their hash was checked, and untrusted files are read in a
sandboxed process of their own.
Leaves to schemas.access: who may listen and download; to readapi.publishing: adding and deleting audio.
"""
