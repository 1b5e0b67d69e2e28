"""Compares what the API shows with what is true."""

import asyncio
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from schemas.ids import list_id, record_id
from tests.network.server import Server
from tests.promises.scenarios.oracle import Catalogue, Disagreement, told
from tests.promises.scenarios.truth import Hosted, Listed

POLL_SECONDS = 0.05

Visible = Mapping[str, tuple[Hosted, Listed]]


@dataclass(frozen=True, slots=True)
class Question:
    """A path, what is looked at in the answer, and what that has to be. No look: nothing must be there."""

    path: str
    look: Callable[[Any], object] | None = None
    expected: object = None

    def seen_in(self, status: int, answer: Any) -> object:
        if status == 404:
            return None
        return self.look(answer) if status == 200 and self.look else f"{status} {answer}"


class Witness:
    """Asks only what it has not confirmed before."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._confirmed: dict[str, object] = {}

    async def agrees(
        self, truth: Mapping[str, Hosted], catalogue: Catalogue, patience_seconds: float, *, thorough: bool
    ) -> None:
        """Wait until the API shows what is true, and nothing else. Raises Disagreement."""
        if thorough:
            self._confirmed.clear()
        asked = [
            question
            for question in questions(truth, catalogue)
            if self._confirmed.get(question.path, ...) != question.expected
        ]
        until = time.monotonic() + patience_seconds
        while found := await self._wrong(asked):
            if time.monotonic() > until:
                raise Disagreement(told(found))
            await asyncio.sleep(POLL_SECONDS)
        self._confirmed |= {question.path: question.expected for question in asked}

    async def _wrong(self, asked: list[Question]) -> list[str]:
        found = []
        for question in asked:
            seen = question.seen_in(*await self._server.ask(question.path))
            if seen != question.expected:
                found.append(f"{question.path} shows {seen} and should show {question.expected}")
        return found


def questions(truth: Mapping[str, Hosted], catalogue: Catalogue) -> Iterator[Question]:
    """All that the truth says about what the API has to show."""
    visible: Visible = {
        uri: (account, listed)
        for account in truth.values()
        for uri, listed in account.records.items()
        if listed.valid
    }
    likers: defaultdict[str, set[str]] = defaultdict(set)
    comments: defaultdict[str, set[tuple[str, str]]] = defaultdict(set)
    for uri, (account, listed) in visible.items():
        if listed.kind == "like":
            likers[listed.value["subject"]["uri"]].add(account.did)
        if listed.kind == "comment":
            comments[listed.value["subject"]["uri"]].add((uri, listed.value["text"]))
    for uri, (account, listed) in visible.items():
        match listed.kind:
            case "track":
                counts = len(likers[uri]), len(comments[uri])
                expected = (listed.cid, listed.value["title"], account.handle, *counts)
                yield Question(f"/tracks/{record_id(uri)}", _track, expected)
                yield Question(f"/tracks/{record_id(uri)}/likes", _likes, likers[uri])
                yield Question(f"/tracks/{record_id(uri)}/comments", _comments, comments[uri])
            case "list" if listed.value.get("listType") == "playlist":
                yield Question(f"/lists/playlists/{list_id(uri)}", _playlist, _held(listed, visible))
    for account in truth.values():
        yield _artist(account)
    for uri in _tracks_of(catalogue) - visible.keys():
        yield Question(f"/tracks/{record_id(uri)}")


def _artist(account: Hosted) -> Question:
    path = f"/artists/{account.did}"
    shown = {uri: listed for uri, listed in account.records.items() if listed.valid}
    if not shown:
        return Question(path)
    profiles = (listed.value for listed in shown.values() if listed.kind == "profile")
    name = next(profiles, {}).get("displayName")
    return Question(path, lambda answer: (answer["handle"], answer["display_name"]), (account.handle, name))


def _held(playlist: Listed, visible: Visible) -> tuple[str, list[str]]:
    subjects = [item["subject"]["uri"] for item in playlist.value["items"]]
    return playlist.value["name"], [uri for uri in subjects if uri in visible]


def _tracks_of(catalogue: Catalogue) -> set[str]:
    """Every track that the catalogue knows of, gone or hidden ones too."""
    held = {uri for rows in catalogue.records.values() for uri in rows if ".track/" in uri}
    return held | catalogue.removed_tracks


def _track(answer: Any) -> object:
    names = ("cid", "title", "artist_handle", "like_count", "comment_count")
    return tuple(answer[name] for name in names)


def _likes(answer: Any) -> object:
    return {user["did"] for user in answer["users"]}


def _comments(answer: Any) -> object:
    return {(comment["uri"], comment["text"]) for comment in answer["comments"]}


def _playlist(answer: Any) -> object:
    return answer["name"], [track["atproto_record_uri"] for track in answer["tracks"]]
