"""The iframe that puts a player on somebody's page: from oEmbed, and to copy by hand."""

from html import escape

from readapi.pages import text

# The player's script may run and links may open pages: no origin, no cookies, no storage.
_SANDBOX = "allow-scripts allow-popups allow-popups-to-escape-sandbox"


def iframe(address: str, title: str, width: int, height: int) -> str:
    """The HTML of a frame, fit for any page: every value is escaped."""
    return (
        f'<iframe src="{escape(address)}" title="{escape(text.line(title))}" '
        f'width="{width}" height="{height}" '
        f'style="border:0;max-width:100%" loading="lazy" allow="autoplay" sandbox="{_SANDBOX}"></iframe>'
    )
