"""Public pages and players: their contents, metadata for link previews, and oEmbed."""
