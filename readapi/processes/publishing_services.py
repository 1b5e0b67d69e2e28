"""Composition of publishing: the services for handlers, the job worker, the sweep and the reconciliation."""

from datetime import timedelta
from functools import partial
from typing import Any, NamedTuple

from readapi.audio.blob_cache import Blobs
from readapi.audio.select import AudioSelection
from readapi.audio.store import AudioStore
from readapi.http.limits.disk_reservations import RECEIVING
from readapi.http.limits.quota import Quota
from readapi.http.supporters import Supporters
from readapi.index.indexer_client import Proofs
from readapi.index.lookups import Index
from readapi.index.queries import tracks
from readapi.oauth.network import Network
from readapi.pds.repo import Pds
from readapi.pds.writing import Writing
from readapi.publishing.access.capabilities import Capabilities
from readapi.publishing.access.change_track import AccessChange
from readapi.publishing.access.enqueue import JobQueue
from readapi.publishing.access.policies import Policies
from readapi.publishing.access.run_job import JobWork
from readapi.publishing.edit_track import TrackEdit
from readapi.publishing.originals.delete import TrackDeletion
from readapi.publishing.originals.placement import Placement
from readapi.publishing.originals.reconcile import RecordReconciliation
from readapi.publishing.originals.references import Originals
from readapi.publishing.originals.steady_clock import SteadyClock
from readapi.publishing.originals.sweep import GRACE, OrphanSweep
from readapi.publishing.uploads.album_commit import AlbumCommit
from readapi.publishing.uploads.examine import UploadExamination
from readapi.publishing.uploads.progress import UploadWatch
from readapi.publishing.uploads.publish import UploadRun
from readapi.publishing.uploads.receive import UploadIntake
from readapi.publishing.uploads.record_home import RecordLocation
from readapi.publishing.uploads.revisions import Versions
from readapi.publishing.worker import Worker
from readapi.spaces.find_track import SpaceTrackFinder
from readapi.spaces.hosts import SpaceHosts
from readapi.spaces.passes import SpaceCredentialCache
from readapi.spaces.repos import SpaceRepos
from readapi.state.state import State
from schemas.settings import Settings


class PublishingDependencies(NamedTuple):
    """The services of other packages that publishing uses."""

    settings: Settings
    state: State
    store: AudioStore
    pds: Pds
    writing: Writing


def publishing_services(
    given: PublishingDependencies,
    supporters: Supporters,
    sources: AudioSelection,
    index: Index,
    network: Network,
) -> dict[type, Any]:
    """The publishing services that handlers request, by type."""
    settings, state, store, pds, writing = given
    quota, originals = Quota(settings, state), Originals(state, store)
    repos, hosts = SpaceRepos(pds.xrpc, settings.collections.space), SpaceHosts(network)
    capabilities = Capabilities(repos, supporters)
    policies = Policies(state, capabilities)
    return {
        TrackDeletion: TrackDeletion(writing, originals, sources, state.uploads),
        TrackEdit: TrackEdit(pds, writing, AlbumCommit(pds, writing), index, network),
        Capabilities: capabilities,
        Policies: policies,
        Quota: quota,
        UploadIntake: UploadIntake(state, store, pds, writing, policies, quota, index, network),
        UploadWatch: UploadWatch(state, public_id=partial(tracks.public_id, index)),
        JobQueue: JobQueue(state, policies, quota, index),
        SpaceTrackFinder: SpaceTrackFinder(
            settings, index, state, repos, SpaceCredentialCache(pds.xrpc, hosts), hosts, sources
        ),
    }


def build_worker(given: PublishingDependencies, blobs: Blobs, index: Index, network: Network) -> Worker:
    """The job worker for queued uploads and publishing jobs."""
    settings, state, store, pds, writing = given
    originals = Originals(state, store)
    placing = Placement(pds, originals, settings.base_url)
    versions = Versions(state.revisions, originals, blobs, settings.base_url)
    repos = SpaceRepos(pds.xrpc, settings.collections.space)
    location = RecordLocation(pds, writing, AlbumCommit(pds, writing), repos, state.space_tracks)
    uploading = UploadRun(store, originals, placing, versions, location, pds, writing)
    changing = AccessChange(pds, writing, originals, placing, blobs, settings.base_url)
    capabilities = Capabilities(repos, Supporters(network, settings.support_verifier))
    examining = UploadExamination(store, Policies(state, capabilities), index, writing)
    return Worker(settings, state, examining, uploading, JobWork(settings, state, changing, writing))


def build_sweep(given: PublishingDependencies, grace: timedelta = GRACE) -> OrphanSweep:
    """The periodic sweep of the audio store."""
    settings, state, store, _, _ = given
    receiving, steady = settings.data_dir / RECEIVING, SteadyClock(state.database.now)
    return OrphanSweep(state, store, Originals(state, store), receiving, grace, steady)


def build_reconciliation(given: PublishingDependencies, blobs: Blobs, index: Index) -> RecordReconciliation:
    """The reconciliation of stored originals with their tracks' records."""
    settings, state, store, _, writing = given
    proofs = Proofs(settings.data_dir)
    return RecordReconciliation(state, Originals(state, store), proofs, blobs, index, writing.collections)
