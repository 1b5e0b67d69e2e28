"""Answers of authorization servers: untrusted bytes in, validated values out. Pure."""

from typing import Annotated, Final, TypeVar

from pydantic import BaseModel, Field, ValidationError

from readapi.oauth.errors import OAuthError, OAuthRefused, Unavailable, quote_upstream
from readapi.oauth.network import Response
from schemas.errors import Upstream

# Goes into a header, so nothing but visible ASCII.
Token = Annotated[str, Field(pattern=r"^[\x21-\x7e]+$")]
Answer = TypeVar("Answer", bound=BaseModel)

DEAD: Final = "invalid_grant"
_UNKNOWN_CLIENT = ("invalid_client", "invalid_client_metadata")
_PASSING = ("temporarily_unavailable", "server_error", "use_dpop_nonce", "invalid_dpop_proof")


class ProtectedResource(BaseModel):
    """https://www.rfc-editor.org/rfc/rfc9728"""

    resource: str
    authorization_servers: list[str]


class ServerMetadata(BaseModel):
    """https://www.rfc-editor.org/rfc/rfc8414; an absent member means unsupported."""

    issuer: str
    authorization_endpoint: str
    token_endpoint: str
    pushed_authorization_request_endpoint: str | None = None
    revocation_endpoint: str | None = None
    response_types_supported: list[str] = []
    grant_types_supported: list[str] = []
    code_challenge_methods_supported: list[str] = []
    token_endpoint_auth_methods_supported: list[str] = []
    token_endpoint_auth_signing_alg_values_supported: list[str] = []
    dpop_signing_alg_values_supported: list[str] = []
    scopes_supported: list[str] = []
    authorization_response_iss_parameter_supported: bool = False
    client_id_metadata_document_supported: bool = False
    protected_resources: list[str] | None = None


class Pushed(BaseModel):
    """https://www.rfc-editor.org/rfc/rfc9126"""

    request_uri: Token


class Granted(BaseModel):
    """The answer of a token endpoint. `sub` is the account's DID."""

    access_token: Token
    token_type: str
    refresh_token: Token | None = None
    expires_in: float | None = Field(None, allow_inf_nan=False)
    scope: str | None = None
    sub: str


class _Problem(BaseModel):
    error: str
    error_description: str = ""


def read_answer(model: type[Answer], response: Response) -> Answer:
    """Validate the answer of a successful request. Raises OAuthError."""
    if response.status not in (200, 201):
        raise read_refusal(response)
    try:
        return model.model_validate_json(response.body)
    except ValidationError as error:
        raise Unavailable("Your server sent an invalid answer.", describe_fault(error)) from None


def read_refusal(response: Response) -> OAuthError:
    """The error of an unsuccessful answer: final only if it carries an OAuth error code."""
    problem = _problem(response)
    upstream = None if problem is None else quote_upstream(problem.error, problem.error_description)
    said = _for_the_log(response.status, upstream)
    if problem is None or problem.error in _PASSING or response.status not in (400, 401, 403):
        return Unavailable("Your server is unavailable at the moment.", said)
    if problem.error == DEAD:
        return OAuthRefused(DEAD, "Your server says that this authorization has ended.", said, upstream)
    if problem.error in _UNKNOWN_CLIENT:
        return OAuthRefused(
            "client_refused", "Your server does not recognise this application.", said, upstream
        )
    return OAuthRefused("server_refused", "Your server refused this application.", said, upstream)


def read_error_code(response: Response) -> str | None:
    """The `error` member of a refusal, if any."""
    problem = _problem(response)
    return None if problem is None else problem.error


def describe_fault(error: ValidationError) -> str:
    """What is wrong with an answer, without quoting it: it may contain tokens."""
    found = error.errors(include_url=False, include_context=False, include_input=False)
    fields = {str(problem["loc"][0]) if problem["loc"] else problem["type"] for problem in found}
    return f"[{', '.join(sorted(fields))}]"


def _problem(response: Response) -> _Problem | None:
    try:
        return _Problem.model_validate_json(response.body)
    except ValidationError:
        return None


def _for_the_log(status: int, said: Upstream | None) -> str:
    return f"[{status}]" if said is None else f"[{status} {f'{said.error} {said.message}'!r}]"
