"""Reports of accounts and records to the operator: what may be reported, why, and how long a text may be."""

from typing import Final, Literal

REASON_PREFIX: Final = "com.atproto.moderation.defs#"
# Known reasons of that lexicon, and how the form words them.
REASONS: Final = {
    "reasonViolation": "It infringes copyright, or other law",
    "reasonSexual": "It is sexual or violent, and does not say so",
    "reasonRude": "It harasses or threatens people",
    "reasonMisleading": "It pretends to be by someone else, or deceives",
    "reasonSpam": "It is spam",
    "reasonAppeal": "I appeal a decision about it",
    "reasonOther": "Something else",
}
MOST_TEXT: Final = 2_000  # characters
MOST_OPEN: Final = 50  # unanswered reports of one account
MOST_OPEN_IN_ALL: Final = 50_000

Status = Literal["open", "closed"]
