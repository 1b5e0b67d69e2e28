"""Identity resolution: DID documents, handles verified in both directions, DNS.

https://atproto.com/specs/did and https://atproto.com/specs/handle
"""
