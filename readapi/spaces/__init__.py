"""Private Spaces: tracks that lie at their artist's own server and are heard by whom the Space lets in.

Owns what lets a person into a Space, in memory only, and the addresses of the tracks that were put there.
Promises: a Space that refuses has the last word, and nothing of its tracks is written anywhere else.
Leaves to their servers: who is a member. https://github.com/bluesky-social/proposals/tree/main/0016-permissioned-data
"""
