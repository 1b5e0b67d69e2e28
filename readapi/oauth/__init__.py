"""Signing in at a person's own server: AT Protocol OAuth, from a handle to tokens and calls made with them.

Owns the protocol: discovery, PAR, PKCE, DPoP, client authentication, tokens, and what each answer must prove.
Promises: no token leaves for an origin other than its own, and nobody is signed in on another's word.
Leaves to others: what is stored and how (readapi.state), when to refresh, and every route.

https://atproto.com/specs/oauth
"""
