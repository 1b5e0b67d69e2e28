"""The types of settings: texts of environment variables, checked for their form and parsed. Pure."""

import base64
import binascii
import ipaddress
from collections.abc import Callable
from typing import Annotated, Final

from pydantic import AfterValidator, BeforeValidator, SecretStr, StringConstraints

from schemas.ids import Did, is_did, is_nsid

SECRET_KEY_BYTES: Final = 32


def _begins_with(expected: str, *beginnings: str) -> Callable[[str], str]:
    def check(text: str) -> str:
        if not text.startswith(beginnings):
            raise ValueError(f"must begin with {expected}")
        return text

    return check


def _without_slash(address: str) -> str:
    return address.rstrip("/")


def _check_nsid_prefix(text: str) -> str:
    if not is_nsid(f"{text}.track"):
        raise ValueError("must be a domain in reverse order, such as fm.svc")
    return text


def _check_rate(text: str) -> str:
    count, _, period = text.partition("/")
    if not count.isdigit() or int(count) < 1 or period not in ("second", "minute", "hour"):
        raise ValueError("must look like 100/minute")
    return text


def _split_commas(value: object) -> object:
    if not isinstance(value, str):
        return value
    return tuple(part.strip() for part in value.split(",") if part.strip())


def _check_networks(networks: tuple[str, ...]) -> tuple[str, ...]:
    for network in networks:
        try:
            ipaddress.ip_network(network, strict=False)
        except ValueError:
            raise ValueError(f"{network} is not an address or a network") from None
    return networks


def _check_hosts(hosts: tuple[str, ...]) -> tuple[str, ...]:
    for host in hosts:
        if "/" in host or "@" in host:
            raise ValueError(f"{host} is not a name, or a name and a port")
    return tuple(host.lower() for host in hosts)


def _check_origins(origins: tuple[str, ...]) -> tuple[str, ...]:
    for origin in origins:
        scheme, _, rest = origin.partition("://")
        if scheme not in ("http", "https") or not rest or "/" in rest or "@" in rest:
            raise ValueError(f"{origin} is not an origin such as https://app.example.com")
    return tuple(origin.lower() for origin in origins)


def _check_dids(dids: tuple[str, ...]) -> tuple[Did, ...]:
    for did in dids:
        if not is_did(did):
            raise ValueError(f"{did} is not a DID")
    return tuple(Did(did) for did in dict.fromkeys(dids))


def _check_keys(keys: tuple[str, ...]) -> tuple[str, ...]:
    for number, key in enumerate(keys, 1):
        try:
            fits = len(base64.b64decode(key, altchars=b"-_", validate=True)) == SECRET_KEY_BYTES
        except binascii.Error:
            fits = False
        if not fits:
            raise ValueError(f"key {number} is not {SECRET_KEY_BYTES} bytes in base64")
    return keys


def _empty_is_none(secret: SecretStr | None) -> SecretStr | None:
    return secret if secret is not None and secret.get_secret_value().strip() else None


# Addresses of services, without a slash at the end.
HttpUrl = Annotated[
    str,
    AfterValidator(_begins_with("http:// or https://", "http://", "https://")),
    AfterValidator(_without_slash),
]
WebsocketUrl = Annotated[
    str, AfterValidator(_begins_with("ws:// or wss://", "ws://", "wss://")), AfterValidator(_without_slash)
]
PublishUrl = Annotated[
    str, AfterValidator(_begins_with("file:/// or s3://", "file:///", "s3://"))
]  # which may hold keys
# Addresses of databases, which may hold a password.
PostgresqlUrl = Annotated[str, AfterValidator(_begins_with("postgresql://", "postgresql://", "postgres://"))]
RedisUrl = Annotated[
    str,
    AfterValidator(
        _begins_with(
            "redis:// or valkey://, or rediss:// or valkeys:// for TLS",
            *("redis://", "rediss://", "valkey://", "valkeys://"),
        )
    ),
]
Contact = Annotated[str, StringConstraints(pattern=r"^(https://[^\s/]+\S*|[^@\s:/]+@[^@\s:/]+\.[^@\s:/]+)$")]
NsidPrefix = Annotated[str, AfterValidator(_check_nsid_prefix)]
Rate = Annotated[str, AfterValidator(_check_rate)]  # requests in a period: 100/minute
Memory = Annotated[str, StringConstraints(pattern=r"^\d+(MB|GB)$")]  # as DuckDB reads it
Networks = Annotated[tuple[str, ...], BeforeValidator(_split_commas), AfterValidator(_check_networks)]
Hosts = Annotated[tuple[str, ...], BeforeValidator(_split_commas), AfterValidator(_check_hosts)]
Origins = Annotated[tuple[str, ...], BeforeValidator(_split_commas), AfterValidator(_check_origins)]
Dids = Annotated[tuple[Did, ...], BeforeValidator(_split_commas), AfterValidator(_check_dids)]
Keys = Annotated[tuple[str, ...], BeforeValidator(_split_commas), AfterValidator(_check_keys)]
SecretText = Annotated[SecretStr | None, AfterValidator(_empty_is_none)]  # an empty one is none
