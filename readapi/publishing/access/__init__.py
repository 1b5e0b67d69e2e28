"""Access of tracks: which publishing template applies, and the jobs that change it."""
