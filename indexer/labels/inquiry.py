"""Asks a labeler by queryLabels for all that it says of our accounts and their records."""

import base64
import binascii
from collections.abc import Callable, Collection, Iterator, Mapping
from datetime import UTC, datetime
from itertools import islice
from typing import Any, Final

import orjson

from indexer.catalog.tables.labels import Statement
from indexer.catalog.writing.intake import Intake
from indexer.labels.labeler import Checked, Labeler
from indexer.network.http.client import Outbound
from indexer.network.http.throttle import HostTurns
from indexer.network.xrpc import BadAnswer, query_url
from schemas.ids import Did
from schemas.labels import LabelKey

METHOD: Final = "com.atproto.label.queryLabels"
ACCOUNTS: Final = 20  # in one question
LIMIT: Final = 250  # labels in one answer, by the lexicon
MOST_PAGES: Final = 400  # for one question: a labeler keeps MOST_OF_A_SUBJECT labels of one subject here
MOST_BYTES: Final = 1 << 20
PATIENCE_SECONDS: Final = 20.0


class Inquiry:
    """Asks labelers, a few accounts at a time. `accounts`: those that have records of ours."""

    def __init__(
        self,
        outbound: Outbound,
        hosts: HostTurns,
        intake: Intake,
        *,
        accounts: Callable[[], Collection[Did]],
        namespace: str,
    ) -> None:
        self._outbound = outbound
        self._hosts = hosts
        self._intake = intake
        self._accounts = accounts
        self._namespace = namespace

    async def ask_all(self, labeler: Labeler, streamed: set[LabelKey]) -> None:
        """Ask about all accounts. Raises OutboundError and NoLabeler.

        `streamed`: what the labeler's stream brings meanwhile is added to it; each question empties it.
        """
        accounts = iter(sorted(self._accounts()))
        while some := frozenset(islice(accounts, ACCOUNTS)):
            asked_at = datetime.now(UTC)
            streamed.clear()
            checked = await self._ask(labeler, some)
            batch = self._intake.batch
            batch.statements.append(
                Statement(labeler.did, some, checked.labels, asked_at, frozenset(streamed))
            )
            batch.dead_letters += checked.refused
            self._intake.added(1 + len(checked.labels) + len(checked.refused))
            await self._intake.room()

    async def _ask(self, labeler: Labeler, dids: Collection[Did]) -> Checked:
        patterns = [pattern for did in sorted(dids) for pattern in (did, f"at://{did}/{self._namespace}.*")]
        found, cursor = Checked([], []), None
        for _ in range(MOST_PAGES):
            page = await self._page(labeler, patterns, cursor)
            checked = await labeler.check(list(map(_with_bytes, _labels(page))))
            found.labels.extend(checked.labels)
            found.refused.extend(checked.refused)
            before, cursor = cursor, page.get("cursor")
            if not isinstance(cursor, str) or cursor == before or not page["labels"]:
                return found
        raise BadAnswer("the answer has too many pages")

    async def _page(self, labeler: Labeler, patterns: list[str], cursor: str | None) -> dict[str, Any]:
        url = (await labeler.find_endpoint()).url
        further = {} if cursor is None else {"cursor": cursor}
        asked = query_url(url, METHOD, uriPatterns=patterns, sources=[labeler.did], limit=LIMIT, **further)
        async with self._hosts.turn(url):
            body = await self._outbound.fetch(asked, MOST_BYTES, PATIENCE_SECONDS)
        try:
            page = orjson.loads(body)
        except orjson.JSONDecodeError:
            raise BadAnswer("the answer is not JSON") from None
        if not isinstance(page, dict) or not isinstance(page.get("labels"), list):
            raise BadAnswer("the answer has no labels")
        return page


def _labels(page: Mapping[str, Any]) -> Iterator[object]:
    yield from page["labels"]


def _with_bytes(label: object) -> object:
    """A label as JSON with its signature as bytes: there they are {"$bytes": base64}."""
    signature = label.get("sig") if isinstance(label, dict) else None
    if not isinstance(label, dict) or not isinstance(signature, dict):
        return label
    text = signature.get("$bytes")
    if not isinstance(text, str):
        return label
    try:
        return label | {"sig": base64.b64decode(text + "=" * (-len(text) % 4), validate=True)}
    except (binascii.Error, ValueError):
        return label
