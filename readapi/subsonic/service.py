"""THE ORDER of a request: read parameters, find the account, bind the method's arguments, call, render."""

import inspect
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qsl

from aiohttp import web
from yarl import URL

from readapi.answers import Answer
from readapi.errors import ApiError, TooLarge, UnsupportedMediaType
from readapi.http.admission import Authorization
from readapi.http.binding import Binder, Services
from readapi.http.limits.body_pace import BodyIntake, Pace
from readapi.http.request import api_keys, bodies
from readapi.http.request.request import Request
from readapi.http.viewer import Authenticator, SignedIn
from readapi.state.db.one_time import DEVELOPER_TOKEN
from readapi.subsonic import failures
from readapi.subsonic.failures import Failed, render_failure
from readapi.subsonic.methods import METHODS, Method
from readapi.subsonic.rendering import Form, render_answer
from schemas.settings import Settings

_FORM = "application/x-www-form-urlencoded"
_MOST_FIELDS = 2000
_KEYS_PAGE = "/settings"

_NO_KEY = "Make a developer token on the settings page of this service, and use it as the API key."
_NO_PASSWORDS = f"This service knows no passwords. {_NO_KEY}"
_NO_TOKENS = f"Token and salt are made of a password, and this service knows none. {_NO_KEY}"
_CONFLICTING = "An API key says who is asking: the parameters u, p, t and s must not be sent with it."
_UNKNOWN_KEY = f"The API key is not valid here. {_NO_KEY}"
_NO_METHOD = "This service does not offer this method."
_NO_JSONP = "Answers as scripts are not offered: ask for f=json, which pages of any site may read."


class Subsonic:
    """Answers requests for methods. `services`: what the methods' functions name in their signatures."""

    def __init__(
        self,
        settings: Settings,
        authenticator: Authenticator,
        admission: Authorization,
        intake: BodyIntake,
        services: Services,
    ) -> None:
        self._keys_page = settings.base_url + _KEYS_PAGE
        self._authenticator = authenticator
        self._admission = admission
        self._intake = intake
        self._binders: dict[str, Binder] = {
            name: method.signature.binder(services) for name, method in METHODS.items()
        }

    async def answer(self, request: Request, name: str) -> Answer[Any] | web.StreamResponse:
        """Answer a request. Refusals are answers, too; raises Spent, TooLarge and RequestTimeout."""
        name = name.removesuffix(".view")
        form = read_form(request)
        try:
            request = await self._with_parameters(request)
            form = read_form(request)
            method = METHODS.get(name)
            if method is None:
                raise Failed(failures.GENERIC, _NO_METHOD)
            if request.query.get("f") == "jsonp":
                raise Failed(failures.GENERIC, _NO_JSONP)
            who = None if method.is_open else await self._admit(request, method)
            return await _call(method, self._binders[name](request, who, {}), form)
        except Failed as failed:
            return render_failure(form, failed, self._keys_page)
        except ApiError as error:
            return failures.convert_failure(form, error.answer())

    async def _with_parameters(self, request: Request) -> Request:
        """The request, with the parameters of a form in its address."""
        if request.method != "POST":
            return request
        text = await bodies.read_bytes(request, Pace(self._intake, request.content))
        if text and request.content_type != _FORM:
            raise UnsupportedMediaType(f"Parameters are sent in the address or as {_FORM}.")
        try:
            sent = parse_qsl(
                text.decode(errors="replace"), keep_blank_values=True, max_num_fields=_MOST_FIELDS
            )
        except ValueError:
            raise TooLarge(f"A form has {_MOST_FIELDS:,} fields at most.") from None
        bodies.check_members(dict(sent))
        address = URL.build(path=request.rel_url.path, query=[*request.query.items(), *sent])
        return request.clone(rel_url=address)

    async def _admit(self, request: Request, method: Method) -> SignedIn:
        """The account of the API key: no other credential of the request counts here.

        Raises Failed, Spent and ScopeUpgradeRequired.
        """
        key = _read_key(request.query)
        requester = await self._authenticator.find_developer_token(key, request.client)
        if requester.viewer is None:
            ended = requester.refusal if requester.signed_in is not None else None
            told = _UNKNOWN_KEY if ended is None else f"{ended.message} {_NO_KEY}"
            raise Failed(failures.INVALID_KEY, told, needs_key=True)
        self._admission.check_scopes(requester.viewer, *method.requires)
        return requester.viewer


def render_gate_refusal(refused: Answer[Any], request: Request) -> Answer[Any]:
    """A refusal of the gate, such as that of too many requests, in the form that was asked for."""
    return failures.convert_refusal(read_form(request), refused)


def read_form(request: Request) -> Form:
    """The form of the answer: XML unless JSON is asked for."""
    return "json" if request.query.get("f", "").startswith("json") else "xml"


async def _call(method: Method, arguments: Mapping[str, Any], form: Form) -> Answer[Any] | web.StreamResponse:
    made = method.function(**arguments)
    content = await made if inspect.isawaitable(made) else made
    if isinstance(content, Answer | web.StreamResponse):
        return content
    return render_answer(form, content if method.convert is None else method.convert(content))


def _read_key(query: Mapping[str, str]) -> str:
    """The API key; raises Failed for every other kind of credential."""
    key = query.get(api_keys.API_KEY)
    if key is None:
        if "t" in query or "s" in query:
            raise Failed(failures.NO_TOKENS, _NO_TOKENS, needs_key=True)
        if "p" in query:
            raise Failed(failures.NO_PASSWORDS, _NO_PASSWORDS, needs_key=True)
        raise Failed(failures.MISSING, f"The parameter apiKey is missing. {_NO_KEY}", needs_key=True)
    if query.keys() & {"u", "p", "t", "s"}:
        raise Failed(failures.CONFLICTING, _CONFLICTING)
    if not key.startswith(DEVELOPER_TOKEN):
        raise Failed(failures.INVALID_KEY, _UNKNOWN_KEY, needs_key=True)
    return key
