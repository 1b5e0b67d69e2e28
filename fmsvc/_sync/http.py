"""Requests to the API: credentials, retries, bounded answers, and refusals as exceptions."""

import ssl
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import httpx2

from fmsvc import tokens
from fmsvc.addresses import check_redirect, find_api_url, origin, path_of
from fmsvc.answers import (
    Model,
    backoff,
    make_unreachable,
    media_type,
    members,
    next_cursor,
    parse_json,
    parse_model,
    parse_models,
    retry_wait,
)
from fmsvc.errors import AnswerError, ConfigurationError, UnreachableError
from fmsvc.files import rewind_files

MAX_BYTES = 16 << 20
_MAX_REDIRECTS = 5
_RETRIED = (429, 503)
_JSON = "application/json"


class Http:
    """Sends requests as one account. The token goes to the service's own origin alone."""

    def __init__(
        self,
        *,
        token: str | None,
        api_url: str | None,
        timeout: float,
        user_agent: str,
        transport: httpx2.BaseTransport | None,
        max_retries: int,
    ) -> None:
        self.api_url = find_api_url(api_url)
        self.max_retries = max_retries
        self._token = token
        self._client = open_pool(timeout=timeout, transport=transport, headers={"User-Agent": user_agent})

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def ask(
        self,
        method: str,
        *path: object,
        query: Mapping[str, Any] | None = None,
        sent: object = None,
        form: Mapping[str, str] | None = None,
        files: Mapping[str, Any] | None = None,
        signed_in: bool = False,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> Any:
        """The JSON of the answer, None when it is empty. Raises FmsvcError.

        `path`: its segments, escaped here; an empty last one ends the path with a slash. Retried: reads, and
        writes with an idempotency key.
        """
        headers = {"Accept": _JSON} | ({"Idempotency-Key": idempotency_key} if idempotency_key else {})
        made = {"json": sent, "data": form, "files": files, "timeout": timeout}
        options: dict[str, Any] = {name: value for name, value in made.items() if value is not None}
        repeats = self.max_retries if method == "GET" or idempotency_key else 0
        options |= {"query": query, "headers": headers, "signed_in": signed_in}
        return parse_json(*self._repeat(repeats, method, path_of(*path), MAX_BYTES, options))

    def get(
        self,
        model: type[Model],
        *path: object,
        query: Mapping[str, Any] | None = None,
        signed_in: bool = False,
    ) -> Model:
        """An answer as a model. Raises FmsvcError."""
        return parse_model(model, self.ask("GET", *path, query=query, signed_in=signed_in))

    def bytes_of(self, *path: object, accept: str, max_bytes: int = MAX_BYTES) -> bytes:
        """An answer that is no JSON. Raises FmsvcError, also for another content type."""
        options = {"headers": {"Accept": accept}}
        response, body = self._repeat(self.max_retries, "GET", path_of(*path), max_bytes, options)
        if not response.is_success:
            parse_json(response, body)
        if media_type(response) != accept:
            raise AnswerError(f"The service did not answer with {accept}.", status=response.status_code)
        return body

    def _repeat(
        self, repeats: int, method: str, path: str, max_bytes: int, options: Mapping[str, Any]
    ) -> tuple[httpx2.Response, bytes]:
        """An answer and its body, after at most `repeats` more attempts. `options`: of `open`."""
        for attempt in range(repeats + 1):
            rewind_files(options.get("files") or {})
            try:
                with self.open(method, path, **options) as response:
                    body = read_bounded(response, max_bytes)
            except UnreachableError:
                if attempt == repeats:
                    raise
                time.sleep(backoff(attempt))
                continue
            wait = retry_wait(response, attempt) if response.status_code in _RETRIED else None
            if wait is None or attempt == repeats:
                return response, body
            time.sleep(wait)
        raise AssertionError

    def pages(
        self,
        model: type[Model],
        member: str,
        *path: object,
        limit: int | None = None,
        query: Mapping[str, Any] | None = None,
        signed_in: bool = False,
        page_size: int = 50,
    ) -> Iterator[Model]:
        """The items of a list, page after page, at most `limit` of them. Raises FmsvcError."""
        left, cursor = limit, None
        seen: set[str] = set()
        while left is None or left > 0:
            size = page_size if left is None else min(left, page_size)
            asked = {**(query or {}), "limit": size, "cursor": cursor}
            page = self.ask("GET", *path, query=asked, signed_in=signed_in)
            for item in members(page, member):
                if left is not None and left <= 0:
                    return
                yield parse_model(model, item)
                left = None if left is None else left - 1
            cursor = next_cursor(page.get("next_cursor"), seen)
            if cursor is None:
                return

    def linked_pages(self, model: type[Model], *path: object, signed_in: bool = False) -> Iterator[Model]:
        """The items of a list whose next page is named by the header `Link` (RFC 8288). Raises FmsvcError."""
        cursor: str | None = None
        seen: set[str] = set()
        while True:
            options = {"query": {"cursor": cursor}, "headers": {"Accept": _JSON}, "signed_in": signed_in}
            response, body = self._repeat(self.max_retries, "GET", path_of(*path), MAX_BYTES, options)
            for item in parse_models(model, parse_json(response, body)):
                yield item
            following = response.links.get("next", {}).get("url", "")
            cursor = next_cursor(httpx2.QueryParams(following.partition("?")[2]).get("cursor"), seen)
            if cursor is None:
                return

    @contextmanager
    def open(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
        signed_in: bool = False,
        redirects: bool = False,
        **options: Any,
    ) -> Iterator[httpx2.Response]:
        """An answer whose body is still to be read. Raises UnreachableError, also inside the block.

        Redirects are followed when asked for, and bring the token to no other origin.
        """
        url, credential = self.api_url + path, self._credential(signed_in)
        params = {name: value for name, value in (query or {}).items() if value is not None} or None
        try:
            for _ in range(_MAX_REDIRECTS + 1):
                own = (
                    {"Authorization": credential}
                    if credential and origin(url) == origin(self.api_url)
                    else {}
                )
                sent = {**(headers or {}), **own}
                with self._client.stream(method, url, params=params, headers=sent, **options) as response:
                    if not (redirects and response.is_redirect):
                        yield response
                        return
                    url, params = str(response.url.join(response.headers.get("Location", ""))), None
                    check_redirect(url, self.api_url)
            raise AnswerError("The service redirects in circles.")
        except (httpx2.HTTPError, httpx2.InvalidURL, httpx2.StreamError) as error:
            raise make_unreachable(url, error) from error

    def _credential(self, signed_in: bool) -> str | None:
        if self._token is None:
            self._token = tokens.find_token(self.api_url) or ""
        if signed_in and not self._token:
            raise ConfigurationError("No token: set FMSVC_TOKEN, or give token=.")
        if not self._token.isascii() or not self._token.isprintable():
            raise ConfigurationError("The token holds characters that no token has.")
        return f"Bearer {self._token}" if self._token else None


def open_pool(**options: Any) -> httpx2.Client:
    """Connections that follow no redirects. Without certificates no https server is trusted."""
    try:
        return httpx2.Client(follow_redirects=False, **options)
    except ssl.SSLError:
        trusting_none = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        return httpx2.Client(follow_redirects=False, verify=trusting_none, **options)


def read_bounded(response: httpx2.Response, max_bytes: int = MAX_BYTES) -> bytes:
    """The body. Raises AnswerError past `max_bytes`, decompressed."""
    body = bytearray()
    for part in response.iter_bytes():
        body += part
        if len(body) > max_bytes:
            raise AnswerError("The service's answer is too long.", status=response.status_code)
    return bytes(body)
