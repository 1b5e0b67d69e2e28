"""pydantic's validation errors -> the field at fault and a plain sentence. Pure."""

from collections.abc import Mapping
from typing import Final, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from readapi.errors import InvalidRequest
from schemas.errors import FieldError

Fitting = TypeVar("Fitting", bound=BaseModel)


Members = Mapping[str, object]


REQUIRED: Final = "must be given"
_FILE = "must be a file, sent as multipart/form-data"
_LIST = "must be a list"
_OBJECT = "must be an object"
_TRUTH = "must be true or false"
_WHOLE = "must be a whole number"

_SENTENCES: Mapping[str, str] = {  # by pydantic's error type; for others its own message is good enough
    "missing": REQUIRED,
    "extra_forbidden": "is not known here",
    "is_instance_of": _FILE,
    "bytes_type": _FILE,
    "list_type": _LIST,
    "tuple_type": _LIST,
    "too_long": "must not hold more than {max_length} items",
    "model_type": _OBJECT,
    "model_attributes_type": _OBJECT,
    "dict_type": _OBJECT,
    "bool_type": _TRUTH,
    "bool_parsing": _TRUTH,
    "int_type": _WHOLE,
    "int_parsing": _WHOLE,
    "int_parsing_size": _WHOLE,
    "int_from_float": _WHOLE,
    "greater_than_equal": "must be {ge} or more",
    "less_than_equal": "must be {le} or less",
    "literal_error": "must be {expected}",
    "string_type": "must be text",
    "string_too_short": "must have {min_length} letters or more",
    "string_too_long": "must have {max_length} letters or fewer",
    "string_pattern_mismatch": "has an invalid format",
}
_PREFIX = "Value error, "


def field_errors(error: ValidationError) -> list[FieldError]:
    """Each member at fault, by its path: `settings.access.listening`."""
    return [
        FieldError(field=".".join(map(str, one["loc"])), message=_plain_sentence(one))
        for one in _error_details(error)
    ]


def first_message(error: ValidationError) -> str:
    """The message for a single value."""
    return _plain_sentence(_error_details(error)[0])


def _error_details(error: ValidationError) -> list[ErrorDetails]:
    return error.errors(include_url=False, include_input=False)


def _plain_sentence(found: ErrorDetails) -> str:
    sentence = _SENTENCES.get(found["type"])
    if sentence is None:
        return found["msg"].removeprefix(_PREFIX)
    return sentence.format(**found.get("ctx", {}))


def fit_members(shape: type[Fitting], members: Members) -> Fitting:
    """Validate members that a handler assembled itself, as a shape. Raises InvalidRequest."""
    try:
        return shape.model_validate(members)
    except ValidationError as error:
        raise InvalidRequest(errors=field_errors(error)) from None
