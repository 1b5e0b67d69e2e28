"""From a received file to a published record: receive, examine, publish."""
