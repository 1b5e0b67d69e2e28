"""Audio: where it is kept, what is in it, and how it reaches whoever may hear it.

Owns the audio store (a folder, or S3 by URL), the cache of blobs from people's servers, and renditions.
Promises: bytes from elsewhere are served only once their hash is checked, and files of strangers are read in
a process of their own, with limits.
Leaves to schemas.access: who may hear and download; to readapi.publishing: when audio comes and goes.
"""
