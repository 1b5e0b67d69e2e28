"""The values and errors of a refused form, on a page that may have several forms."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from http import HTTPStatus

from readapi.errors import ApiError
from readapi.http.request.headers import Accept, prefers_page
from readapi.http.request.page_forms import PageForm
from readapi.pages.notices import Notice

_UNCHANGED = "Nothing was changed."
_OUTER = ("access", "publishing", "rights", "settings")
_SHOWN_AS = {"timestamp_ms": "moment"}  # members of the API whose fields on pages have other names


@dataclass(frozen=True, slots=True)
class FormErrors:
    """`form`: the name of the refused form, empty on a fresh page. `status`: of the page.

    `files`: the fields with files, which must be chosen again.
    """

    form: str = ""
    values: Mapping[str, str] = field(default_factory=dict)
    errors: Mapping[str, str] = field(default_factory=dict)
    note: Notice | None = None
    status: int = HTTPStatus.OK
    files: frozenset[str] = frozenset()

    def value(self, form: str, name: str, saved: str | None = None) -> str:
        """A field's value: as typed, otherwise as saved."""
        return self.values.get(name, "") if form == self.form else saved or ""

    def lost(self, form: str, name: str) -> bool:
        """Whether a file was chosen that the page cannot put back."""
        return form == self.form and name in self.files

    def error(self, form: str, name: str) -> str | None:
        """A field's error."""
        return self.errors.get(name) if form == self.form else None


FRESH = FormErrors()


def form_errors(
    form: str, sent: PageForm, refusal: ApiError, accept: Accept, at: str | None = None
) -> FormErrors:
    """Every fault stands at its field, and all are told in the note. `at`: where one stands that names none.

    Raises the refusal for programs, which do not look at pages.
    """
    if not prefers_page(accept.header):
        raise refusal
    errors = {_field(error.field): error.message for error in refusal.errors}
    if not errors and at is not None:
        errors = {at: refusal.message}
    listed = [f"{name}: {message.removesuffix('.')}." for name, message in errors.items()]
    told = " ".join([_UNCHANGED, *listed]) if refusal.errors else refusal.message
    return FormErrors(form, sent.values(), errors, Notice(told, is_bad=True), refusal.status, sent.files())


def _field(name: str) -> str:
    """The API's name of a field without what it lies in: `settings.access.listening`, `tags.0`."""
    parts = [part for part in name.split(".") if part not in _OUTER]
    first = parts[0] if parts else name
    return _SHOWN_AS.get(first, first)
