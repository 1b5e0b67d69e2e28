"""The stored state of publishing: uploads, jobs, revisions, stored files, preferences, plays."""
