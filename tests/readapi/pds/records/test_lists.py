"""A list record is made of another, and nothing is lost on the way."""

from typing import Any

import pytest

from readapi.errors import Conflict, NotFound
from readapi.pds.records import lists
from schemas.collections import Collections

CID = "bafyreids2sehsntaax5f3ulh6stic6bpyzjf5lmwb5poeu3awya43ram4e"
KEPT = {"$type": "fm.svc.list", "name": "One", "mood": "blue"}


def item(name: str, **more: Any) -> dict[str, Any]:
    return {"subject": {"uri": f"at://{name}", "cid": CID}, **more}


def holding(*items: dict[str, Any]) -> dict[str, Any]:
    return {**KEPT, "items": list(items)}


def test_a_new_list_holds_nothing() -> None:
    """And says what it is; without a description it has none."""
    made = lists.new_list(Collections().list, "album", "Dawn", "")

    del made["createdAt"]
    assert made == {"$type": "fm.svc.list", "listType": "album", "name": "Dawn", "items": []}


def test_a_track_is_added_at_the_end_once() -> None:
    """Whoever asks again finds it where it is; of another version, that one is meant from then on."""
    longer = lists.add_track(holding(item("a", note=1)), "at://b", CID)
    again = lists.add_track(longer, "at://a", CID)
    newer = lists.add_track(longer, "at://a", CID.replace("4e", "4f"))

    assert longer["items"] == [item("a", note=1), item("b")]
    assert again == longer
    assert newer["items"] == [{"subject": {"uri": "at://a", "cid": CID[:-2] + "4f"}, "note": 1}, item("b")]
    assert newer.items() >= KEPT.items()


def test_uploads_stand_in_their_order_though_a_later_one_ended_first() -> None:
    """But the artist's own order stays, and tracks of others count for nothing."""
    late = lists.add_upload(holding(item("a/t/1"), item("a/t/3")), "at://a/t/2", CID)
    after_moves = lists.add_upload(holding(item("a/t/3"), item("a/t/1")), "at://a/t/2", CID)
    foreign = lists.add_upload(holding(item("b/t/3")), "at://a/t/2", CID)

    assert late["items"] == [item("a/t/1"), item("a/t/2"), item("a/t/3")]
    assert after_moves["items"] == [item("a/t/3"), item("a/t/1"), item("a/t/2")]
    assert foreign["items"] == [item("b/t/3"), item("a/t/2")]
    assert lists.add_upload(late, "at://a/t/3", CID) == late


def test_a_track_is_taken_away_wherever_it_stands() -> None:
    """Also twice, as other programs may have put it."""
    without = lists.remove_track(holding(item("a"), item("b"), item("a")), "at://a")

    assert without["items"] == [item("b")]
    assert without.items() >= KEPT.items()
    with pytest.raises(NotFound):
        lists.remove_track(without, "at://a")


def test_items_are_put_in_order_with_what_they_carry() -> None:
    """Of equal ones the first stays first."""
    before = holding(item("a", note=1), item("b"), item("a", note=2))

    after = lists.reorder_items(before, ["at://a", "at://a", "at://b"])

    assert after["items"] == [item("a", note=1), item("a", note=2), item("b")]
    assert after["mood"] == "blue"


@pytest.mark.parametrize("uris", [[], ["at://a"], ["at://a", "at://c"], ["at://a", "at://b", "at://b"]])
def test_another_set_of_items_is_no_order(uris: list[str]) -> None:
    """Somebody changed the list meanwhile."""
    with pytest.raises(Conflict):
        lists.reorder_items(holding(item("a"), item("b")), uris)


def test_a_description_is_kept_changed_or_cleared() -> None:
    """By saying nothing, something, or an empty text."""
    described = {**holding(), "description": "old"}

    kept, changed, cleared = (lists.rename_list(described, "Two", text) for text in (None, "new", ""))

    assert (kept["name"], kept["description"], changed["description"]) == ("Two", "old", "new")
    assert "description" not in cleared


@pytest.mark.parametrize(
    ("uri", "before", "order"),
    [("at://b", "at://a", "bac"), ("at://c", "at://a", "cab"), ("at://a", "at://c", "bac")],
)
def test_an_item_is_put_right_before_another(uri: str, before: str, order: str) -> None:
    """With what it carries; the others keep their order."""
    after = lists.move_item(holding(item("a", note=1), item("b"), item("c")), uri, before)

    assert after["items"] == [item("a", note=1) if name == "a" else item(name) for name in order]
    assert after["mood"] == "blue"


def test_of_equal_items_the_first_is_moved() -> None:
    before = holding(item("a"), item("b", note=1), item("b", note=2))

    assert lists.move_item(before, "at://b", "at://a")["items"] == [
        item("b", note=1),
        item("a"),
        item("b", note=2),
    ]


@pytest.mark.parametrize(
    ("uri", "before"), [("at://a", "at://a"), ("at://x", "at://a"), ("at://a", "at://x")]
)
def test_what_is_not_there_is_put_nowhere(uri: str, before: str) -> None:
    with pytest.raises(Conflict):
        lists.move_item(holding(item("a"), item("b")), uri, before)
