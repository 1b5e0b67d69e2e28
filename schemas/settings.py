"""Every environment variable, in one frozen model. Read once, in a `__main__`, and handed on."""

import difflib
from collections.abc import Mapping
from pathlib import Path
from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from schemas.collections import Collections
from schemas.setting_types import (
    Contact,
    Dids,
    Hosts,
    HttpUrl,
    Keys,
    Memory,
    Networks,
    NsidPrefix,
    Origins,
    PostgresqlUrl,
    PublishUrl,
    Rate,
    RedisUrl,
    SecretText,
    WebsocketUrl,
)

PREFIX = "FMSVC_"
LEAST_SECRET_CHARACTERS = 32
OF_THE_TESTS = ("FMSVC_TEST_", "FMSVC_INTEROP")  # beginnings of names that only tests read
OF_THE_CLIENT = ("FMSVC_API_URL", "FMSVC_TOKEN")  # what the command line `fmsvc` reads


class SettingsError(Exception):
    """A variable is misspelt or its value does not fit; the message is one sentence for a person."""


class Settings(BaseModel):
    """One field per variable: `data_dir` is `FMSVC_DATA_DIR`. Durations in seconds, sizes in bytes."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    # where things are
    data_dir: Path = Field(Path("data"), description="Folder of the catalogue, search index and snapshots.")
    namespace: NsidPrefix = Field("fm.svc", description="Prefix of the five record collections.")
    public_url: HttpUrl | None = Field(
        None, description="Address the public reaches this service at; default: http://HOST:PORT."
    )
    web_url: HttpUrl | None = Field(
        None, description="Origin of the web application, the only one sent credentials."
    )
    contact: Contact | None = Field(
        None, description="E-mail address or https:// address of the operator, for /about and security.txt."
    )
    texts_dir: Path | None = Field(
        None, description="Folder with the operator's own about.txt, terms.txt and privacy.txt, any of them."
    )

    admins: Dids = Field(
        (), max_length=100, description="Accounts that may use the pages under /admin: their DIDs, by commas."
    )

    anonymous_reports: int = Field(
        0,
        ge=0,
        le=50,
        description="Open reports, and as many open notices, that people without an account may have from "
        "one network (/24 or /48); 0: an account is required.",
    )

    busy_per_hour: int = Field(
        60,
        ge=1,
        description="Likes, comments or plays within an hour from which an account or network is listed as "
        "suspicious activity.",
    )
    suspect_likes: int = Field(
        20, ge=1, description="Likes of one track within a day from which they are checked for abuse."
    )
    suspect_fresh_percent: int = Field(
        50,
        ge=1,
        le=100,
        description="Percentage of fresh accounts among these likes from which they are suspicious.",
    )
    suspect_burst: int = Field(
        10, ge=2, description="Multiple of a track's usual daily likes from which they are suspicious."
    )
    fresh_hours: int = Field(72, ge=1, description="How long an account is fresh after its first like.")

    # who is signed in
    state_url: PostgresqlUrl | None = Field(
        None,
        repr=False,
        description="PostgreSQL to keep sessions and grants in; default: SQLite in the data folder.",
    )
    secret_keys: Keys = Field(
        (),
        repr=False,
        description="Keys that grants are encrypted with, 32 bytes each in base64, newest first; "
        "default: one made in the data folder.",
    )

    # audio
    audio_url: str | None = Field(
        None,
        repr=False,
        description="Where audio is kept: a folder, or s3://BUCKET/PREFIX?region=…&endpoint=…; "
        "default: a folder in the data folder.",
    )
    audio_cache_bytes: int = Field(
        4 << 30, ge=0, description="Audio of other people's servers kept in the data folder."
    )

    picture_cache_bytes: int = Field(
        1 << 30, ge=0, description="Pictures in the sizes of pages kept in the data folder."
    )
    picture_rate_limit: Rate = Field(
        "1000/minute", description="Pictures allowed for one account, or address without one."
    )

    # publishing
    upload_bytes: int = Field(1 << 30, ge=1 << 10, description="Longest audio file that is taken.")
    image_bytes: int = Field(20_000_000, ge=1 << 10, description="Longest image that is taken.")
    comments_per_track: int = Field(
        20,
        ge=1,
        description="Comments of one account on one track that are counted and listed, the "
        "first ones; more are not taken.",
    )
    upload_rate_limit: Rate = Field(
        "20/minute", description="Uploads allowed for one account, or address without one."
    )
    support_verifier: HttpUrl | None = Field(
        None,
        description="Address that tells who supports whom: GET ?artist=DID&viewer=DID answers "
        '{"supports": true or false}. Default: none, and audiences of supporters are not available.',
    )
    uploads_waiting: int = Field(
        100, ge=1, description="Uploads of one account that may be unfinished at a time."
    )
    uploads_waiting_bytes: int = Field(
        10 << 30,
        ge=1,
        description="Total size of an account's unfinished uploads; a single upload may exceed it.",
    )
    jobs_waiting: int = Field(
        20, ge=1, description="Publishing jobs of one account that may be unfinished at a time."
    )
    job_workers: int = Field(
        4,
        ge=1,
        le=16,
        description="Accounts whose uploads and publishing jobs run at the same time; work longer than "
        "20 seconds leaves its slot.",
    )
    job_seconds: float = Field(
        1800.0, gt=0, description="Longest try at one upload, or at one track of a publishing job."
    )
    job_tries: int = Field(
        3, ge=1, le=100, description="Tries at work that fails on our side, or ends the job worker."
    )
    shown_seconds: float = Field(
        2.0, gt=0, description="How long a write waits until the index shows it; then it is answered anyway."
    )
    claim_seconds: float = Field(
        30.0, ge=0.5, description="How long a job worker may be silent before another takes over."
    )

    # the network
    relay: WebsocketUrl = Field(
        "wss://relay1.us-east.bsky.network", description="Firehose to follow (ws:// or wss://)."
    )
    jetstream: WebsocketUrl | None = Field(
        None,
        description="Jetstream to follow instead: less to receive, but without proof. "
        "The relay then only lists repos.",
    )
    jetstream_version: Literal["1", "2"] = Field(
        "1", description="Version of the Jetstream's protocol; version 2 also reports #sync events."
    )
    start: Literal["oldest", "live"] = Field(
        "oldest", description="Where a new install begins: the oldest event that the relay still has, or now."
    )
    plc_url: HttpUrl = Field("https://plc.directory", description="Directory of did:plc identities.")
    handle_resolver: HttpUrl | None = Field(
        None, description="Service whose resolveHandle replaces DNS and HTTPS look-ups of handles."
    )
    allow_loopback: bool = Field(False, description="Let identities point at 127.0.0.1, for tests and demos.")

    labelers: Dids = Field(
        (), max_length=20, description="Labelers whose labels have effect here: their DIDs, by commas."
    )
    retry_seconds: float | None = Field(
        None,
        gt=0,
        description="Longest wait before what failed is tried again; default: what suits each case.",
    )
    drift_seconds: float = Field(
        60.0, ge=0, description="How long a repo may differ from its server before it is fetched anew."
    )

    # the indexer
    identity_seconds: float = Field(
        86_400.0,
        gt=0,
        description="Age at which an identity (DID document and verified handle) is resolved again.",
    )
    batch_rows: int = Field(5000, ge=1, le=50_000, description="Rows after which a batch is committed.")
    batch_seconds: float = Field(
        0.1, gt=0, le=60, description="Least time between two batches that are not full."
    )
    buffer_bytes: int = Field(
        64 << 20, ge=1 << 20, description="Bytes of frames held before reading from the relay pauses."
    )
    duckdb_memory: Memory = Field("768MB", description="DuckDB's memory limit in the indexer.")
    snapshot_seconds: float = Field(1.0, gt=0, description="Least time between two snapshots.")
    snapshot_share: float = Field(
        0.05, gt=0, le=1, description="Share of all time that publishing snapshots may take."
    )
    parquet_seconds: float = Field(3600.0, ge=0, description="Least time between Parquet exports; 0: none.")
    parquet_full_seconds: float = Field(
        86400.0, ge=0, description="Least time between Parquet exports of all rows; between them, of changes."
    )
    iceberg: bool = Field(False, description="Whether each export goes into Iceberg tables as well.")
    iceberg_url: str | None = Field(
        None,
        repr=False,
        description="Where the files of the Iceberg tables are: a folder, or "
        "s3://BUCKET/PREFIX?region=…&endpoint=…; default: a folder in the data folder.",
    )
    iceberg_catalog_url: PostgresqlUrl | None = Field(
        None,
        repr=False,
        description="PostgreSQL to keep the Iceberg catalogue in; default: SQLite in the data folder.",
    )
    sql: bool = Field(False, description="Whether strangers may run SQL over the open data.")
    sql_rate_limit: Rate = Field(
        "10/minute", description="Statements of SQL allowed for one account, or address without one."
    )
    flight_port: int | None = Field(
        None,
        ge=0,
        le=65535,
        description="Port of Arrow Flight SQL, which runs the same SQL statements as /sql; needs FMSVC_SQL; "
        "default: none.",
    )
    export_license: str | None = Field(None, description="Licence of the open data, named in its manifest.")
    export_contact: str | None = Field(None, description="Contact for the open data, named in its manifest.")
    log_hours: float = Field(
        72.0, gt=0, le=24 * 366, description="How long the log of changes is kept, from which /live resumes."
    )
    dead_letter_bytes: int = Field(256 << 20, ge=0, description="Dead letters kept, oldest dropped first.")

    # more than one machine
    publish_url: PublishUrl | None = Field(
        None,
        repr=False,
        description="Where the indexer publishes for API machines, and they follow it: file:///FOLDER, or "
        "s3://BUCKET/PREFIX?region=…&endpoint=…; default: nowhere.",
    )
    lease_seconds: float = Field(
        6.0,
        ge=1,
        le=60,
        description="How long the indexer that holds the lease may be silent before another takes over.",
    )
    cluster_key: SecretText = Field(
        None,
        description="Secret that API machines and indexers share, at least 32 characters; it signs the "
        "nudges by which a machine's own writes are shown at once.",
    )
    nudge_url: HttpUrl | None = Field(
        None,
        description="Address at which this indexer listens for nudges of API machines: http://ADDRESS:PORT; "
        "default: none, and writes are shown when they arrive in the stream.",
    )

    # the API
    host: str = Field("127.0.0.1", description="Address that the API listens on.")
    port: int = Field(8000, ge=0, le=65535, description="Port that the API listens on.")
    workers: int = Field(1, ge=1, le=64, description="API processes.")
    trusted_proxies: Networks = Field((), description="Networks whose forwarded headers count.")
    rate_limit: Rate = Field(
        "100/minute", description="Requests allowed for one account, or address without one."
    )
    auth_rate_limit: Rate = Field(
        "10/minute",
        description="Requests that have to do with signing in, allowed for one account, "
        "or address without one.",
    )
    mcp_hosts: Hosts = Field(
        (),
        description="Names besides that of the public address under which /mcp is asked for, such as "
        "music.internal:8000: other values of the Host header are refused there.",
    )
    mcp_origins: Origins = Field(
        (),
        description="Origins of web pages that may use /mcp, besides this service's own and FMSVC_WEB_URL.",
    )
    limits_url: RedisUrl | None = Field(
        None,
        repr=False,
        description="Redis or Valkey in which all workers count requests together; "
        "default: each counts for itself.",
    )
    live_clients: int = Field(
        2500, ge=0, le=100_000, description="Clients of /live that each worker serves at a time."
    )
    live_clients_of_one: int = Field(
        8, ge=1, description="Clients of /live per worker from one address or IPv6 /64."
    )
    webhooks: int = Field(
        200, ge=0, le=10_000, description="Webhooks of all developer tokens together; 0: there are none."
    )
    response_cache_bytes: int = Field(64 << 20, ge=0, description="Public answers kept per worker.")
    query_memory: Memory = Field(
        "64MB",
        description="DuckDB's memory limit in the process that reads snapshots, while it answers; "
        "besides, up to 9 bytes for each row of the catalogue.",
    )
    ready_lag_seconds: float = Field(600.0, gt=0, description="Lag above which /ready answers 503.")
    oauth_keys: SecretText = Field(
        None,
        description="Private P-256 keys to sign people in with, the newest first: PEM, a JWK or a JWKS. "
        "Default: none; then servers sign people out after two weeks, and without https it works on this "
        "machine only.",
    )
    oauth_client_name: str = Field(
        "fmsvc", min_length=1, max_length=64, description="Name that people are shown when they sign in."
    )
    log_level: Literal["debug", "info", "warning", "error"] = Field("info", description="Least level logged.")
    log_format: Literal["auto", "json", "console"] = Field("auto", description="auto: console on a terminal.")

    @property
    def collections(self) -> Collections:
        return Collections(self.namespace)

    @property
    def relay_url(self) -> str:
        """Where the relay answers questions."""
        return self.relay.replace("ws", "http", 1)

    @property
    def base_url(self) -> str:
        """The service's own origin, without a trailing slash."""
        return (self.public_url or f"http://{self.host}:{self.port}").rstrip("/")

    @model_validator(mode="after")
    def _public_url_is_known(self) -> Self:
        if self.port == 0 and self.public_url is None:
            raise ValueError("port 0 needs FMSVC_PUBLIC_URL, because answers carry absolute addresses")
        return self

    @model_validator(mode="after")
    def _clients_with_keys_are_public(self) -> Self:
        if self.oauth_keys is not None and not self.base_url.startswith("https://"):
            raise ValueError("FMSVC_OAUTH_KEYS needs an FMSVC_PUBLIC_URL that begins with https://")
        return self

    @model_validator(mode="after")
    def _flight_is_of_sql(self) -> Self:
        if self.flight_port is not None and not self.sql:
            raise ValueError("FMSVC_FLIGHT_PORT needs FMSVC_SQL=true")
        return self

    @model_validator(mode="after")
    def _nudges_are_signed(self) -> Self:
        if self.nudge_url is not None and (self.cluster_key is None or self.publish_url is None):
            raise ValueError("FMSVC_NUDGE_URL needs FMSVC_CLUSTER_KEY and FMSVC_PUBLISH_URL")
        if (
            self.cluster_key is not None
            and len(self.cluster_key.get_secret_value()) < LEAST_SECRET_CHARACTERS
        ):
            raise ValueError(f"FMSVC_CLUSTER_KEY needs at least {LEAST_SECRET_CHARACTERS} characters")
        return self

    @classmethod
    def from_environment(cls, environ: Mapping[str, str]) -> Self:
        """Read every `FMSVC_*` variable. Raises SettingsError naming the first that is wrong."""
        given = {
            name.removeprefix(PREFIX).lower(): value
            for name, value in environ.items()
            if name.startswith(PREFIX) and not name.startswith(OF_THE_TESTS) and name not in OF_THE_CLIENT
        }
        for field in given.keys() - cls.model_fields.keys():
            close = difflib.get_close_matches(field, cls.model_fields, n=1)
            hint = f"; did you mean {PREFIX}{close[0].upper()}?" if close else "."
            raise SettingsError(f"{PREFIX}{field.upper()} is not a setting{hint}")
        try:
            return cls.model_validate(given)
        except ValidationError as error:
            problem = error.errors(include_url=False)[0]
            field = str(problem["loc"][0]) if problem["loc"] else ""
            said = problem["msg"].removeprefix("Value error, ")
            raise SettingsError(f"{PREFIX}{field.upper()}: {said}." if field else f"{said}.") from error
