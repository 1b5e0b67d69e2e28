"""Health, metrics, the API's description, and OAuth client metadata."""

from typing import Any

from readapi import metrics
from readapi.answers import Answer, render_json
from readapi.errors import IndexNotReady
from readapi.http.endpoint import Routes
from readapi.http.openapi.document import Description
from readapi.http.process_metrics import Processes
from readapi.index.indexer_client import IndexerStatus
from readapi.index.lookups import Index
from readapi.index.queries import readiness
from readapi.index.snapshots import Snapshots
from readapi.metrics import Metrics
from readapi.oauth.metadata import DOCUMENT_PATH, JWKS_PATH, ClientMetadata
from readapi.state.state import State
from schemas.api.health import Health, Readiness
from schemas.settings import Settings

routes = Routes("meta")


@routes.get("/health", operational=True)
async def health() -> Health:
    """Say that the process answers."""
    return Health(status="ok")


@routes.get("/ready", raises=(IndexNotReady,), operational=True)
async def ready(
    index: Index, catalog: Snapshots, indexer: IndexerStatus, state: State, settings: Settings
) -> Answer[Readiness]:
    """Tell whether answers are fresh enough, and if not, why.

    503 carries the same report, with the members of an error besides.
    """
    report = await readiness.report_readiness(index, catalog, indexer, state, settings.ready_lag_seconds)
    return Answer(render_json(report), status=200 if report.ready else IndexNotReady.status)


@routes.get("/metrics", media_types=(metrics.MEDIA_TYPE,), operational=True)
async def measured(counted: Metrics, processes: Processes) -> Answer[str]:
    """Tell what every process of the service has counted, as Prometheus reads it.

    `fmsvc_up` is 0 for a process that did not answer within a second; its numbers are absent.
    """
    return Answer(await processes.text(counted.text()), media_type=metrics.MEDIA_TYPE)


@routes.get("/openapi.json")
async def openapi(description: Description) -> Answer[dict[str, Any]]:
    """Describe this interface, as OpenAPI 3.1."""
    return Answer(await description.json())


@routes.get(DOCUMENT_PATH)
async def oauth_client_metadata(client: ClientMetadata) -> Answer[dict[str, Any]]:
    """Tell authorization servers who this service is, and what it may ask for."""
    return Answer(render_json(client.document()))


@routes.get("/oauth-client-metadata.json")
async def oauth_client_metadata_alias(client: ClientMetadata) -> Answer[dict[str, Any]]:
    """The same under its shorter name."""
    return await oauth_client_metadata(client)


@routes.get(JWKS_PATH)
async def oauth_keys(client: ClientMetadata) -> Answer[dict[str, Any]]:
    """Publish the keys that this service signs with when it signs people in."""
    return Answer(render_json(client.keys.published()))
