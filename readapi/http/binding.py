"""A handler's signature → the arguments it is called with. Compiled once; cheap at each request."""

import inspect
import types
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import partial
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from multidict import MultiMapping
from pydantic import TypeAdapter, ValidationError

from readapi.errors import InvalidRequest, NotFound
from readapi.http.limits.clients import Client
from readapi.http.request import validation
from readapi.http.request.cookies import Browser
from readapi.http.request.headers import Accept, Conditions, IdempotencyKey, LastEventId
from readapi.http.request.request import Request
from readapi.http.request.validation import Members
from readapi.http.viewer import InSession, SignedIn
from schemas.access import Viewer
from schemas.api.shape import Asked
from schemas.errors import FieldError

Place = Literal["path", "query"]
Services = Mapping[type, object]
PEOPLE = (Viewer, SignedIn, InSession)
OF_HEADERS: Mapping[type, Callable[[Request], object]] = {
    Accept: lambda request: Accept(request.headers.get("Accept", "")),
    Browser: Browser.of,
    Conditions: Conditions.of,
    LastEventId: lambda request: LastEventId(request.headers.get("Last-Event-ID", "")),
    IdempotencyKey: IdempotencyKey.of,
    Request: lambda request: request,
}
ABSENT = inspect.Parameter.empty
Binder = Callable[[Request, SignedIn | None, Members], dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Parameter:
    """One value that a request carries, found by its name.

    `argument`: the handler's, with an underscore after a name that is a word of Python, such as `from_`.
    `validate` converts what was sent, or raises ValidationError; None: any text will do as it is.
    """

    argument: str
    name: str
    place: Place
    adapter: TypeAdapter[Any]
    many: bool
    default: Any
    validate: Callable[[object], Any] | None

    @property
    def required(self) -> bool:
        return self.default is ABSENT


@dataclass(frozen=True, slots=True)
class RequesterParameter:
    """The parameter that receives the requester: a Viewer or a SignedIn. `required`: None is not accepted."""

    name: str
    kind: type
    required: bool

    def of(self, who: SignedIn) -> Viewer | SignedIn | None:
        """The admitted requester as the type of the parameter; None when they have no such form."""
        if self.kind is Viewer:
            return who.viewer
        return who if isinstance(who, self.kind) else None


@dataclass(frozen=True, slots=True)
class Signature:
    """A handler's parameters: values of the request, the requester, and services by their type."""

    parameters: tuple[Parameter, ...]
    headers: Mapping[str, type]
    services: Mapping[str, type]
    returns: Any
    person: RequesterParameter | None = None
    client: str | None = None
    body: tuple[str, type[Asked]] | None = None

    @classmethod
    def of(cls, function: Callable[..., Any], path_names: frozenset[str]) -> "Signature":
        """Read a handler. Raises TypeError when a path name has no parameter or a type is missing."""
        hints = get_type_hints(function, include_extras=True)
        parameters, services, headers, person, client, body = [], {}, {}, None, None, None
        for name, parameter in inspect.signature(function).parameters.items():
            annotation = hints[name]
            if isinstance(annotation, type) and annotation in OF_HEADERS:
                headers[name] = annotation
            elif annotation is Client:
                client = name
            elif (kind := _without_none(annotation)) in PEOPLE:
                person = RequesterParameter(name, kind, required=kind is annotation)
            elif isinstance(annotation, type) and issubclass(annotation, Asked):
                body = name, annotation
            elif name in path_names or _is_value(annotation):
                place: Place = "path" if name in path_names else "query"
                parameters.append(_parameter(name, place, annotation, parameter.default))
            else:
                services[name] = annotation
        if missing := path_names - {parameter.name for parameter in parameters}:
            raise TypeError(f"{function.__name__} does not take {', '.join(sorted(missing))} of its path")
        return cls(tuple(parameters), headers, services, hints["return"], person, client, body)

    def binder(self, services: Services) -> Binder:
        """The function that turns requests into arguments. Raises LookupError for an unknown service."""
        given: dict[str, object] = {}
        for name, kind in self.services.items():
            if kind not in services:
                raise LookupError(f"no service of type {kind.__name__}")
            given[name] = services[kind]
        of_path = [parameter for parameter in self.parameters if parameter.place == "path"]
        of_query = [parameter for parameter in self.parameters if parameter.place == "query"]
        return partial(self._bind, given, of_path, of_query)

    def _bind(
        self,
        given: Mapping[str, object],
        of_path: Sequence[Parameter],
        of_query: Sequence[Parameter],
        request: Request,
        who: SignedIn | None,
        sent: Members,
    ) -> dict[str, Any]:
        arguments = dict(given)
        for name, kind in self.headers.items():
            arguments[name] = OF_HEADERS[kind](request)
        if self.client is not None:
            arguments[self.client] = request.client
        if self.person is not None:
            arguments[self.person.name] = None if who is None else self.person.of(who)
        for parameter in of_path:
            text = request.path_values[parameter.name]
            try:
                arguments[parameter.argument] = parameter.validate(text) if parameter.validate else text
            except ValidationError:
                raise NotFound from None
        wrong = _read_query(request.query, of_query, arguments) if of_query else []
        if self.body is not None:
            name, shape = self.body
            try:
                arguments[name] = shape.model_validate(sent)
            except ValidationError as error:
                wrong += validation.field_errors(error)
        if wrong:
            raise InvalidRequest(errors=wrong)
        return arguments


def _read_query(
    query: MultiMapping[str], parameters: Sequence[Parameter], arguments: dict[str, Any]
) -> list[FieldError]:
    """Add the values of a query to the arguments. Returns what is wrong with them."""
    wrong: list[FieldError] = []
    for parameter in parameters:
        name = parameter.name
        text = query.getall(name, None) if parameter.many else query.get(name)
        if text is None and parameter.default is ABSENT:
            wrong.append(FieldError(field=name, message=validation.REQUIRED))
        elif text is None:
            arguments[parameter.argument] = parameter.default
        elif parameter.validate is None:
            arguments[parameter.argument] = text
        else:
            try:
                arguments[parameter.argument] = parameter.validate(text)
            except ValidationError as error:
                wrong.append(FieldError(field=name, message=validation.first_message(error)))
    return wrong


def _parameter(name: str, place: Place, annotation: Any, default: Any) -> Parameter:
    adapter: TypeAdapter[Any] = TypeAdapter(annotation)
    is_text = adapter.core_schema.keys() - {"metadata"} == {"type"} and adapter.core_schema["type"] == "str"
    validate = None if is_text else adapter.validator.validate_python
    return Parameter(name, name.removesuffix("_"), place, adapter, _is_list(annotation), default, validate)


def _without_none(annotation: Any) -> Any:
    """X, of the annotation `X | None`."""
    parts = [part for part in get_args(annotation) if part is not types.NoneType]
    return parts[0] if isinstance(annotation, types.UnionType) and len(parts) == 1 else annotation


def _is_value(annotation: Any) -> bool:
    """True for types that a request carries: text, numbers, literals, lists of them. Others are services."""
    if get_origin(annotation) is Annotated:
        return _is_value(get_args(annotation)[0])
    if isinstance(annotation, types.UnionType) or get_origin(annotation) is Union:
        return any(_is_value(part) for part in get_args(annotation))
    if get_origin(annotation) in (list, tuple, frozenset, Literal):
        return True
    supertype = getattr(annotation, "__supertype__", annotation)
    return isinstance(supertype, type) and issubclass(supertype, str | int | float | bool | Enum)


def _is_list(annotation: Any) -> bool:
    if get_origin(annotation) is Annotated:
        return _is_list(get_args(annotation)[0])
    if isinstance(annotation, types.UnionType) or get_origin(annotation) is Union:
        return any(_is_list(part) for part in get_args(annotation))
    return get_origin(annotation) in (list, tuple, frozenset)
