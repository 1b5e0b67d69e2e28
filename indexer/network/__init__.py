"""Requests to other servers: which addresses are permitted, how many at once, timeouts and retries.

Owns every outgoing connection of the indexer, its limits by origin, domain and network, and the back-off.
Promises: no URL from outside leads to an address of this machine or its network (SSRF).
Leaves to sync: what is requested, and what an answer means.
"""
