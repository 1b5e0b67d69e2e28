"""What somebody typed into a form of a page that has several, and what was wrong with it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from http import HTTPStatus

from readapi.accept import Accept
from readapi.errors import ApiError
from readapi.pages import refusals
from readapi.pages.notes import Note

_UNCHANGED = "Nothing was changed."
_OUTER = ("access", "publishing", "settings")


@dataclass(frozen=True, slots=True)
class Attempt:
    """`form` names the one that was refused; on a fresh page there is none. `status`: of the page."""

    form: str = ""
    values: Mapping[str, str] = field(default_factory=dict)
    errors: Mapping[str, str] = field(default_factory=dict)
    note: Note | None = None
    status: int = HTTPStatus.OK

    def value(self, form: str, name: str, saved: str | None = None) -> str:
        """What a field holds: what was typed, else what is saved."""
        return self.values.get(name, "") if form == self.form else saved or ""

    def error(self, form: str, name: str) -> str | None:
        """What is wrong with a field."""
        return self.errors.get(name) if form == self.form else None


FRESH = Attempt()


def refused(
    form: str, values: Mapping[str, str], refusal: ApiError, accept: Accept, at: str | None = None
) -> Attempt:
    """Every fault stands at its field, and all are told in the note. `at`: where one stands that names none.

    Raises the refusal for programs, which do not look at pages.
    """
    if not refusals.prefers_page(accept.header):
        raise refusal
    errors = {_field(error.field): error.message for error in refusal.errors}
    if not errors and at is not None:
        errors = {at: refusal.message}
    listed = [f"{name}: {message.removesuffix('.')}." for name, message in errors.items()]
    told = " ".join([_UNCHANGED, *listed]) if refusal.errors else refusal.message
    return Attempt(form, values, errors, Note(told, is_bad=True), refusal.status)


def _field(name: str) -> str:
    """The API's name of a field without what it lies in: `settings.access.listening`, `tags.0`."""
    parts = [part for part in name.split(".") if part not in _OUTER]
    return parts[0] if parts else name
