"""Everything that publishing is made of, put together: what handlers ask for, and what works behind them."""

from datetime import timedelta
from functools import partial
from typing import Any, NamedTuple

from readapi.arrivals import RECEIVING
from readapi.audio.blobs import Blobs
from readapi.audio.sources import Sources
from readapi.audio.store import AudioStore
from readapi.oauth.network import Network
from readapi.pds import Pds
from readapi.proofs import Proofs
from readapi.publishing.capabilities import Capabilities
from readapi.publishing.changing import Changing
from readapi.publishing.deleting import Deleting
from readapi.publishing.describing import Describing
from readapi.publishing.examining import Examining
from readapi.publishing.homes import Homes
from readapi.publishing.job_work import JobWork
from readapi.publishing.originals import Originals
from readapi.publishing.placing import Placing
from readapi.publishing.policies import Policies
from readapi.publishing.queueing import Queueing
from readapi.publishing.quota import Quota
from readapi.publishing.receiving import Receiving
from readapi.publishing.reconciling import Reconciling
from readapi.publishing.shelving import Shelving
from readapi.publishing.steady import Steady
from readapi.publishing.supporters import Supporters
from readapi.publishing.sweeping import GRACE, Sweeping
from readapi.publishing.uploading import Uploading
from readapi.publishing.versions import Versions
from readapi.publishing.watching import Watching
from readapi.publishing.worker import Worker
from readapi.queries import tracks
from readapi.search import Index
from readapi.spaces.finder import Finder
from readapi.spaces.hosts import Hosts
from readapi.spaces.keyring import Keyring
from readapi.spaces.repos import SpaceRepos
from readapi.state.state import State
from readapi.writing import Writing
from schemas.settings import Settings


class Given(NamedTuple):
    """What publishing needs of the rest."""

    settings: Settings
    state: State
    store: AudioStore
    pds: Pds
    writing: Writing


def services(
    given: Given, supporters: Supporters, sources: Sources, index: Index, network: Network
) -> dict[type, Any]:
    """What handlers ask for, by type."""
    settings, state, store, pds, writing = given
    quota, originals = Quota(settings, state), Originals(state, store)
    repos, hosts = SpaceRepos(pds.xrpc, settings.collections.space), Hosts(network)
    capabilities = Capabilities(repos, supporters)
    policies = Policies(state, capabilities)
    return {
        Deleting: Deleting(writing, originals, sources, state.uploads),
        Describing: Describing(pds, writing, Shelving(pds, writing), index, network),
        Capabilities: capabilities,
        Policies: policies,
        Quota: quota,
        Receiving: Receiving(state, store, pds, writing, policies, quota, index, network),
        Watching: Watching(state, public_id=partial(tracks.public_id, index)),
        Queueing: Queueing(state, policies, quota, index),
        Finder: Finder(settings, index, state, repos, Keyring(pds.xrpc, hosts), hosts, sources),
    }


def worker(given: Given, blobs: Blobs, index: Index, network: Network) -> Worker:
    """What does the work that was queued."""
    settings, state, store, pds, writing = given
    originals = Originals(state, store)
    placing = Placing(pds, originals, settings.base_url)
    versions = Versions(state.revisions, originals, blobs, settings.base_url)
    repos = SpaceRepos(pds.xrpc, settings.collections.space)
    homes = Homes(pds, writing, Shelving(pds, writing), repos, state.space_tracks)
    uploading = Uploading(store, originals, placing, versions, homes, pds, writing)
    changing = Changing(pds, writing, originals, placing, blobs, settings.base_url)
    capabilities = Capabilities(repos, Supporters(network, settings.support_verifier))
    examining = Examining(store, Policies(state, capabilities), index, writing)
    return Worker(settings, state, examining, uploading, JobWork(settings, state, changing, writing))


def sweeping(given: Given, grace: timedelta = GRACE) -> Sweeping:
    """What looks after the store."""
    settings, state, store, _, _ = given
    receiving, steady = settings.data_dir / RECEIVING, Steady(state.database.now)
    return Sweeping(state, store, Originals(state, store), receiving, grace, steady)


def reconciling(given: Given, blobs: Blobs, index: Index) -> Reconciling:
    """What compares what is kept of tracks with their records."""
    settings, state, store, _, writing = given
    proofs = Proofs(settings.data_dir)
    return Reconciling(state, Originals(state, store), proofs, blobs, index, writing.collections)
