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
from readapi.index.snapshots.interface import Snapshots
from readapi.metrics import Metrics
from readapi.oauth.metadata import DOCUMENT_PATH, JWKS_PATH, ClientMetadata
from readapi.state.state import State
from schemas import service_identity
from schemas.api.health import Health, Readiness
from schemas.settings import Settings

routes = Routes("meta")


@routes.get("/health", operational=True)
def health() -> Health:
    """Check that the process answers."""
    return Health(status="ok")


@routes.get("/ready", raises=(IndexNotReady,), operational=True)
async def ready(
    index: Index, catalog: Snapshots, indexer: IndexerStatus, state: State, settings: Settings
) -> Answer[Readiness]:
    """Check whether answers are fresh enough, and if not, why.

    With 503 the same report also has the members of an error.
    """
    report = await readiness.report_readiness(index, catalog, indexer, state, settings.ready_lag_seconds)
    return Answer(render_json(report), status=200 if report.ready else IndexNotReady.status)


@routes.get("/metrics", media_types=(metrics.MEDIA_TYPE,), operational=True)
async def measured(counted: Metrics, processes: Processes) -> Answer[str]:
    """Get the metrics of all processes of the service, in Prometheus's format.

    `fmsvc_up` is 0 for a process that did not answer within a second; its other metrics are absent.
    """
    return Answer(await processes.text(counted.text()), media_type=metrics.MEDIA_TYPE)


@routes.get("/openapi.json")
async def openapi(description: Description) -> Answer[dict[str, Any]]:
    """Get the OpenAPI 3.1 description of this API."""
    return Answer(await description.json())


@routes.get(DOCUMENT_PATH)
def oauth_client_metadata(client: ClientMetadata) -> Answer[dict[str, Any]]:
    """Get the OAuth client metadata of this service, for authorization servers."""
    return Answer(render_json(client.document()))


@routes.get("/oauth-client-metadata.json")
def oauth_client_metadata_alias(client: ClientMetadata) -> Answer[dict[str, Any]]:
    """Get the OAuth client metadata, under a shorter path."""
    return oauth_client_metadata(client)


@routes.get(service_identity.DOCUMENT_PATH)
def service_document(settings: Settings) -> Answer[dict[str, Any]]:
    """Get the DID document of this service, by which servers of accounts send XRPC queries here."""
    return Answer(render_json(service_identity.service_document(settings.base_url)))


@routes.get(JWKS_PATH)
def oauth_keys(client: ClientMetadata) -> Answer[dict[str, Any]]:
    """Get the public keys that this service authenticates with at authorization servers (JWKS)."""
    return Answer(render_json(client.keys.published()))
