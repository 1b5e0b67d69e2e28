"""What pydantic finds wrong with what was sent -> the field at fault and a plain sentence. Pure."""

from collections.abc import Mapping
from typing import Final

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from schemas.errors import FieldError

REQUIRED: Final = "must be given"
_FILE = "must be a file, sent as multipart/form-data"
_LIST = "must be a list"
_OBJECT = "must be an object"
_TRUTH = "must be true or false"
_WHOLE = "must be a whole number"

_SENTENCES: Mapping[str, str] = {  # by pydantic's names of what may be wrong; the rest it says well enough
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
    "string_pattern_mismatch": "does not have the form that is expected here",
}
_PREFIX = "Value error, "


def of_members(error: ValidationError) -> list[FieldError]:
    """Each member that does not fit, by its path: `settings.access.listening`."""
    return [FieldError(field=".".join(map(str, one["loc"])), message=_said(one)) for one in _found(error)]


def first(error: ValidationError) -> str:
    """What is wrong with a value that stands alone."""
    return _said(_found(error)[0])


def _found(error: ValidationError) -> list[ErrorDetails]:
    return error.errors(include_url=False, include_input=False)


def _said(found: ErrorDetails) -> str:
    sentence = _SENTENCES.get(found["type"])
    if sentence is None:
        return found["msg"].removeprefix(_PREFIX)
    return sentence.format(**found.get("ctx", {}))
