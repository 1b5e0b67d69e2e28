"""A publishing template as questions with choices: what is chosen, and what cannot be and why. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from schemas.publishing import Template

Name = Literal["listening", "downloads", "visibility"]

_QUESTIONS: Mapping[Name, str] = {
    "listening": "Who may listen",
    "downloads": "Who may download the original file",
    "visibility": "Who is told that it exists",
}
# The words, a hint, and the audience that has to be available for it.
_CHOICES: Mapping[Name, Mapping[str, tuple[str, str, str | None]]] = {
    "listening": {
        "public": ("Everybody", "", None),
        "signed_in": ("People who are signed in", "", "signed_in"),
        "supporters": ("Your supporters", "", "supporters"),
        "owner": ("Only you", "", "owner"),
        "space": ("Members of a private Space", "Goes with metadata that is private too.", "space"),
    },
    "downloads": {
        "open": ("Whoever may listen", "", None),
        "ask": ("Whoever may listen, next to your support link", "A question, not a payment.", None),
        "supporters": ("Your supporters", "", "supporters"),
        "off": ("Only you", "This does not keep people from recording what they hear.", None),
    },
    "visibility": {
        "public": ("Everybody", "", None),
        "unlisted": ("Whoever looks at your profile, searches or has the link", "", None),
        "private": ("Members of the Space", "Goes with listening in a private Space.", "space"),
    },
}
_IN_SHORT: Mapping[Name, Mapping[str, str]] = {
    "listening": {
        "public": "Heard by everybody",
        "signed_in": "Heard by people who are signed in",
        "supporters": "Heard by supporters",
        "owner": "Heard by you alone",
        "space": "Heard in a private Space",
    },
    "downloads": {
        "open": "downloads open",
        "ask": "downloads with a support link",
        "supporters": "downloads for supporters",
        "off": "no downloads",
    },
    "visibility": {"public": "listed", "unlisted": "unlisted", "private": "private"},
}


@dataclass(frozen=True, slots=True)
class Choice:
    """One answer. `reason`: why it is not to be had here; chosen earlier, it can be kept all the same."""

    value: str
    words: str
    hint: str
    is_chosen: bool
    reason: str | None

    @property
    def is_closed(self) -> bool:
        return self.reason is not None and not self.is_chosen


@dataclass(frozen=True, slots=True)
class Question:
    """One of the three things that a template decides."""

    name: Name
    words: str
    choices: tuple[Choice, ...]


def questions(chosen: Mapping[str, str], reasons: Mapping[str, str]) -> tuple[Question, ...]:
    """What a template asks. `chosen`: the answers so far; `reasons`: why audiences are not available."""
    return tuple(
        Question(
            name,
            words,
            tuple(
                Choice(value, said, hint, chosen.get(name) == value, reasons.get(audience or ""))
                for value, (said, hint, audience) in _CHOICES[name].items()
            ),
        )
        for name, words in _QUESTIONS.items()
    )


def answers(template: Template) -> dict[str, str]:
    """What a template decides, as a form says it: a box that is not ticked is not there."""
    chosen: dict[str, str] = dict(template.access.model_dump())
    return chosen | ({"attach_rights": "on"} if template.attach_rights else {})


def template_of(filled: Mapping[str, str]) -> dict[str, object]:
    """The template that a form says, not validated yet."""
    access = {name: filled[name] for name in _QUESTIONS if name in filled}
    return {"access": access, "attach_rights": "attach_rights" in filled}


def in_short(template: Template) -> str:
    """What a template decides, in one line."""
    chosen = answers(template)
    return ", ".join(words[chosen[name]] for name, words in _IN_SHORT.items())
