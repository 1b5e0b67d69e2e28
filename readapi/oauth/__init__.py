"""AT Protocol OAuth: from a handle to tokens of the account's own server, and requests made with them.

Owns the protocol: discovery, PAR, PKCE, DPoP, client authentication, tokens, and what each answer must prove.
Promises: a token is sent to its own origin only, and an account's identity is always verified both ways.
Leaves to others: storage (readapi.state), when to refresh (readapi.pds), and every route.

https://atproto.com/specs/oauth
"""
