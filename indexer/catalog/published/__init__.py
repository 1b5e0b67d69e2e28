"""What other processes read of the catalogue: snapshots, series, and exports for analysts.

`snapshots.py` decides when each is made. Every file gets its name when it is complete.
"""
