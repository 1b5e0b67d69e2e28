"""Replication: what the API reads of the data folder, brought to other machines through an object store.

Owns the objects under FMSVC_PUBLISH_URL, and the data folder of a machine that follows. Promises: what a
follower shows was committed by one indexer, whole, and is no older than the lag that it reports; at most one
indexer moves `current.json` in an epoch. Leaves to the stores what they write, and to readapi how it is read:
a worker cannot tell a follower's folder from an indexer's.

    lease.json                         who may move current.json: its epoch grows with each holder
    current.json                       the manifest that followers show, of the holder of the lease
    index/NODE/manifest.json           the same of each other indexer, which followers keep at hand
    index/NODE/EPOCH/*.bundle          new files of the search indexes, one bundle for each commit
    index/NODE/blocks, index/NODE/lists   other files in blocks of 256 KiB by their hash, and lists of them
"""
