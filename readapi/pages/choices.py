"""A publishing template as questions with choices: what is chosen, and what cannot be and why. Pure."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from schemas.api.tracks import Track
from schemas.publishing import Template

Name = Literal["listening", "downloads", "visibility"]

_QUESTIONS: Mapping[Name, str] = {
    "listening": "Who may listen",
    "downloads": "Who may download the original file",
    "visibility": "Who can find it",
}
# The words, a hint, and the audience that has to be available for it.
_CHOICES: Mapping[Name, Mapping[str, tuple[str, str, str | None]]] = {
    "listening": {
        "public": ("Everybody", "", None),
        "signed_in": ("People who are signed in", "", "signed_in"),
        "supporters": ("Your supporters", "", "supporters"),
        "owner": ("Only you", "", "owner"),
        "space": ("Members of a private Space", "Requires private metadata.", "space"),
    },
    "downloads": {
        "open": ("Everyone who may listen", "", None),
        "ask": ("Everyone who may listen, next to your support link", "Support is optional.", None),
        "supporters": ("Your supporters", "", "supporters"),
        "off": ("Only you", "Listeners can still record what they hear.", None),
    },
    "visibility": {
        "public": ("Everybody", "", None),
        "unlisted": ("Everyone who has the link, searches or visits your profile", "", None),
        "private": ("Members of the Space", "Requires listening in a private Space.", "space"),
    },
}
_IN_SHORT: Mapping[Name, Mapping[str, str]] = {
    "listening": {
        "public": "Everyone can listen",
        "signed_in": "Signed-in people can listen",
        "supporters": "Supporters can listen",
        "owner": "Only you can listen",
        "space": "Members of a private Space can listen",
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
    """One answer. `reason`: why it is unavailable; an answer that was chosen earlier can be kept.

    `short`: the answer's part of `in_short`, empty where the question is left to another template.
    """

    value: str
    words: str
    hint: str
    is_chosen: bool
    reason: str | None
    short: str = ""

    @property
    def is_closed(self) -> bool:
        return self.reason is not None and not self.is_chosen


@dataclass(frozen=True, slots=True)
class Question:
    """One of the three things that a template decides."""

    name: Name
    words: str
    choices: tuple[Choice, ...]


def build_questions(
    chosen: Mapping[str, str], reasons: Mapping[str, str], unanswered: str | None = None
) -> tuple[Question, ...]:
    """What a template asks. `chosen`: the answers so far; `reasons`: why audiences are not available.

    `unanswered`: the words of a first answer that leaves a question to another template; chosen by default.
    """
    return tuple(
        Question(name, words, (*_unanswered(name, chosen, unanswered), *_answers(name, chosen, reasons)))
        for name, words in _QUESTIONS.items()
    )


def _answers(name: Name, chosen: Mapping[str, str], reasons: Mapping[str, str]) -> Iterator[Choice]:
    for value, (said, hint, audience) in _CHOICES[name].items():
        reason = reasons.get(audience or "")
        yield Choice(value, said, hint, chosen.get(name) == value, reason, _IN_SHORT[name][value])


def _unanswered(name: Name, chosen: Mapping[str, str], words: str | None) -> Iterator[Choice]:
    if words is not None:
        yield Choice("", words, "", not chosen.get(name), None)


def form_values(template: Template) -> dict[str, str]:
    """A template as form values: a box that is not ticked is absent."""
    chosen: dict[str, str] = dict(template.access.model_dump())
    return chosen | ({"attach_rights": "on"} if template.attach_rights else {})


def template_of(filled: Mapping[str, str]) -> dict[str, object]:
    """The template from form values, not validated yet."""
    access = {name: filled[name] for name in _QUESTIONS if filled.get(name)}
    return {"access": access, "attach_rights": "attach_rights" in filled}


def is_answered(filled: Mapping[str, str]) -> bool:
    """Whether a form answers any question of a template: then it has to answer all."""
    return bool(template_of(filled)["access"]) or "attach_rights" in filled


def describe_access(track: Track) -> str:
    """A track's own settings in one line; empty for a track without a recording."""
    return "No recording" if track.audio_storage == "none" else in_short(track.publishing)


def heard_by(template: Template) -> str:
    """Who may listen, in a few words."""
    return _IN_SHORT["listening"][template.access.listening]


def in_short(template: Template) -> str:
    """What a template decides, in one line."""
    chosen = form_values(template)
    return ", ".join(words[chosen[name]] for name, words in _IN_SHORT.items())
