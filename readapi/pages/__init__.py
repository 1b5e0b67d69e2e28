"""HTML pages: embedded players, public pages, the Portal, errors, and the API's documentation.

Owns templates and static files. A page works without scripts, cookies or storage, and loads nothing from
other servers but audio and pictures.
Leaves to queries: which viewer may see what.
"""
