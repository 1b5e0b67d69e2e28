"""What people see: the players that other sites embed, the public pages, errors, and the API's description.

Owns templates and static files. A page works without scripts, cookies, storage or anybody else's server
but those that hold the sound and the pictures.
Leaves to queries: what may be shown to whom.
"""
