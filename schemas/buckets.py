"""Opens an S3 bucket from its URL: `s3://bucket/prefix?region=…&endpoint=…`."""

from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import parse_qsl, urlsplit

from obstore.store import S3Store

if TYPE_CHECKING:
    from obstore.store import RetryConfig

SCHEME: Final = "s3://"
_CONNECT_TIMEOUT: Final = timedelta(seconds=5)


def open_bucket(url: str, timeout: timedelta, retries: "RetryConfig | None" = None) -> S3Store:
    """The bucket, from the URL's prefix on. The AWS_* variables set options that the URL lacks.

    `timeout`: of one request, its body included.
    """
    parts = urlsplit(url)
    config: dict[str, Any] = dict(parse_qsl(parts.query))
    allow_http = config.get("endpoint", "").startswith("http://")
    return S3Store(
        parts.netloc,
        prefix=parts.path.strip("/") or None,
        client_options={
            "allow_http": allow_http,
            "connect_timeout": _CONNECT_TIMEOUT,
            "timeout": timeout,
        },
        retry_config=retries,
        **config,
    )
