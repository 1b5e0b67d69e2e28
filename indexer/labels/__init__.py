"""Labels: follows labelers that the operator names, and the operator's own, into the catalogue.

Promises: only labels with their labeler's signature; each at least once, in the order of its stream, and
committed with the cursor that covers it; what a stream has lost is asked for by queryLabels.
Leaves to `schemas.label_policy`: what follows from a label.
"""
