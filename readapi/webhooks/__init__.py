"""Webhooks: the changes of the live feed, sent to the addresses that owners of developer tokens name.

Owns how deliveries are cut, signed, repeated and given up. Promises: every change that is wanted is delivered
at least once and in order, and a repeated delivery has the same id, also after a kill.
Leaves to `readapi.live` what is told, and to the network client which addresses may be reached.
"""
