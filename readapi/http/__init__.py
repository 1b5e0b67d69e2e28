"""Every request, from the socket to an endpoint and back: gate, binding, viewer, limits, headers.

`gate.py` is the order. Promises: one error shape, one place that decides who is admitted, and a bound
on everything.
Leaves to routes: what an endpoint does.
"""
