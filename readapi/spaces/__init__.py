"""Private Spaces: tracks whose records and audio stay on their artist's PDS, for the Space's members.

Owns the credentials for Spaces, in memory only, and the addresses of the tracks published in them.
Promises: a refusal by the Space is final, and no content of its tracks is stored anywhere else.
Leaves to the Space's server: membership. https://github.com/bluesky-social/proposals/tree/main/0016-permissioned-data
"""
