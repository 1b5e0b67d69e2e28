"""The catalogue's tables, a module each: the SQL that writes and reads it stands there and nowhere else."""
