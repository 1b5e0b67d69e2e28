"""Forms of pages: members over a limit are left out, and the page shows the form again with the rest."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, TypeVar

from pydantic import BaseModel, Field, InstanceOf, model_validator
from pydantic.json_schema import SkipJsonSchema

from readapi.errors import ApiError
from readapi.http.request.validation import fit_members
from schemas.api.shape import AskedInParts, Received
from schemas.errors import FieldError

DRAINED_BYTES: Final = 32 << 20  # of one form, skipped to reach the parts that follow
KEPT_BYTES: Final = 64 << 10  # of a text that is over its limit
TEXT_TOO_LONG: Final = "This is too long for a form; only the beginning was kept."

Fitting = TypeVar("Fitting", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A member that was left out, and why. `kept`: the beginning of a text; nothing of a file."""

    refusal: ApiError
    kept: str | None = None
    file_name: str = ""


class PageForm(AskedInParts):
    """A page's form: texts, files, and checkboxes, which are present when ticked."""

    left_out: SkipJsonSchema[Mapping[str, InstanceOf[LeftOut]]] = Field({}, exclude=True)

    @model_validator(mode="before")
    @classmethod
    def _leave_out(cls, sent: object) -> object:
        if not isinstance(sent, Mapping):
            return sent
        left_out = {name: one for name, one in sent.items() if isinstance(one, LeftOut)}
        kept = {name: one.kept for name, one in left_out.items() if one.kept is not None}
        taken = {name: one for name, one in sent.items() if name not in left_out}
        return taken | kept | {"left_out": left_out}

    def values(self) -> dict[str, str]:
        """All members but the files, as typed."""
        members = self.model_dump(exclude_unset=True)
        return {name: value for name, value in members.items() if isinstance(value, str)}

    def files(self) -> frozenset[str]:
        """The members with a received file: no page can put a file back into its field."""
        return frozenset(name for name, value in self if _is_file(value))

    def fitted(self, shape: type[Fitting], members: Mapping[str, object]) -> Fitting:
        """The form as a shape of the API. Raises InvalidRequest, or the refusal of a member left out."""
        if self.left_out:
            raise self._refusal()
        return fit_members(shape, members)

    def _refusal(self) -> ApiError:
        """The first member's refusal, naming every field that was left out."""
        first = next(iter(self.left_out.values())).refusal
        errors = [FieldError(field=name, message=one.refusal.message) for name, one in self.left_out.items()]
        return type(first)(first.message, errors=errors, headers=first.headers)


def file_too_large(most_bytes: int) -> str:
    """The message for a file that is too large."""
    megabytes = most_bytes // 100_000 / 10
    most = f"{megabytes:,.1f} MB" if megabytes else f"{most_bytes:,} bytes"
    return f"This file is larger than {most}, the limit for this field."


def _is_file(value: object) -> bool:
    return value.bytes > 0 if isinstance(value, Received) else isinstance(value, bytes) and bool(value)
