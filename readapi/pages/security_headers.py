"""The response headers that decide what a page may load and who may frame it."""

import base64
import hashlib

from readapi.http.response.headers import NO_REFERRER

_NOTHING = "default-src 'none'; base-uri 'none'"
_OWN_SOURCES = "script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; manifest-src 'self'"
_BARE_SOURCES = "style-src 'self'; img-src 'self'; manifest-src 'self'"
_COMMON = f"{_NOTHING}; form-action 'self'"


def page_headers(base_url: str, *, is_personal: bool = False, style: str = "") -> dict[str, str]:
    """For players and public pages: scripts, styles and pictures of ours only, sound from any server.

    Our origin stands beside 'self' because browsers disagree about what 'self' is in a sandboxed frame.
    `is_personal`: made for a signed-in viewer, so that no other site may frame or load it. `style`: the one
    style element of the page, which is allowed by its hash.
    """
    servers = "https:" if base_url.startswith("https://") else "https: http:"
    chosen = " blob:" if is_personal else ""  # a picture for the Portal, which may be shown in place
    sources = (
        f"script-src 'self' {base_url}/static/; style-src 'self' {base_url}/static/{_hash_source(style)}; "
        f"img-src 'self' {base_url}/img/{chosen}; media-src {servers} blob:; connect-src {servers}; "
        "manifest-src 'self'"
    )
    if is_personal:
        return {
            "Content-Security-Policy": f"{_COMMON}; {sources}; frame-ancestors 'none'",
            "Cross-Origin-Opener-Policy": "same-origin",
            "Cross-Origin-Resource-Policy": "same-origin",
            "Referrer-Policy": "no-referrer",
        }
    return {
        "Content-Security-Policy": f"{_COMMON}; {sources}; frame-ancestors *",
        "Cross-Origin-Resource-Policy": "cross-origin",
        "Referrer-Policy": "no-referrer",
    }


def _hash_source(style: str) -> str:
    if not style:
        return ""
    return f" 'sha256-{base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()}'"


def docs_headers() -> dict[str, str]:
    """For the API's documentation, which sends requests to this service only, and is never framed."""
    sources = (
        "script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; manifest-src 'self'"
    )
    return {
        "Content-Security-Policy": f"{_COMMON}; {sources}; frame-ancestors 'none'",
        "X-Frame-Options": "DENY",
        "Referrer-Policy": "no-referrer",
    }


def bare_headers() -> dict[str, str]:
    """For pages that load nothing but a style sheet, such as errors."""
    return {"Content-Security-Policy": f"{_COMMON}; {_BARE_SOURCES}; frame-ancestors *"}


def leaving_headers() -> dict[str, str]:
    """For the page that asks before a browser leaves: never framed, and no referrer goes along."""
    return {
        "Content-Security-Policy": f"{_COMMON}; {_BARE_SOURCES}; frame-ancestors 'none'",
        "X-Frame-Options": "DENY",
        "Cache-Control": "no-store",
        **NO_REFERRER,
    }


def account_headers() -> dict[str, str]:
    """For pages of the signed-in account: own resources only, never framed, never cached.

    Without a referrer browsers would send no origin with a form either.
    """
    return _own(_OWN_SOURCES)


def portal_headers(base_url: str) -> dict[str, str]:
    """For the Portal: own scripts, styles and pictures, but sound from any server, which its player plays.

    Other pages may be shown in place while it plays, hence their sources. `blob:`: a picture that was chosen,
    and a recording that was fetched whole.
    """
    servers = "https:" if base_url.startswith("https://") else "https: http:"
    return _own(
        "script-src 'self'; style-src 'self'; img-src 'self' blob:; "
        f"media-src 'self' {servers} blob:; connect-src 'self' {servers}; manifest-src 'self'"
    )


def _own(sources: str) -> dict[str, str]:
    return {
        "Content-Security-Policy": f"{_COMMON}; {sources}; frame-ancestors 'none'",
        "X-Frame-Options": "DENY",
        "Referrer-Policy": "same-origin",
        "Cross-Origin-Opener-Policy": "same-origin",
        "Cross-Origin-Resource-Policy": "same-origin",
        "Cache-Control": "no-store",
        "Vary": "Cookie",
    }
