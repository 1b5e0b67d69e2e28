"""How long a server asks to be left alone: what its Retry-After header says.

https://www.rfc-editor.org/rfc/rfc9110#section-10.2.3
"""

import time
from email.utils import parsedate_to_datetime


def seconds(asked: str) -> float | None:
    """From now, for a number or a date; 0 for one that is past, None for what is neither."""
    try:
        if asked.isdecimal():
            return float(asked)
        return max(0.0, parsedate_to_datetime(asked).timestamp() - time.time())
    except (ValueError, OverflowError):
        return None
