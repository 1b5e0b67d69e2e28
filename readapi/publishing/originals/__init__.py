"""Original audio files in the private store: placement, references, reconciliation, trash and deletion."""
