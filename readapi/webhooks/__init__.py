"""Webhooks: the changes of the live feed, sent to the addresses that owners of developer tokens name.

Owns how changes are grouped into deliveries, signed, retried and paused. Promises: every wanted change is
delivered at least once and in order, and a repeated delivery has the same id, also after a kill.
Leaves to `readapi.live` which events there are, and to the network client which addresses may be reached.
"""
