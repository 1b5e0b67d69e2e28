"""The following side, on a machine without an indexer: keeps the data folder as the API's workers expect it.

The files of each indexer are in `replicas/NODE`; `replica` is a link to the one that is shown, and the
folders that workers read are links through it. So a change-over replaces one link, and downloads nothing.
"""
