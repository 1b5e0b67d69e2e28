"""What the index tells of accounts."""

from pathlib import Path

from indexer.search.documents.artist import artist_documents
from indexer.search.documents.labels import Labels
from readapi.index.lookups import Index
from readapi.index.queries import artists
from schemas.ids import Did, record_key
from tests.readapi.indexed import BASE, Indexed, person


def test_an_account_has_the_labels_of_its_card(tmp_path: Path) -> None:
    """For answers about what it has just written; none while it is unknown or there is no index yet."""
    mara, unlabelled = person("mara"), {"labels": [], "label_details": []}
    said = [
        {
            "val": value,
            "src": source,
            "uri": mara.did,
            "cid": None,
            "cts": "2026-01-01T00:00:00Z",
            "exp": None,
        }
        for value, source in (("spam", "did:plc:one"), ("rock", "did:plc:one"), ("spam", "did:plc:two"))
    ]

    before = artists.account_labels(Index(tmp_path / "nothing", BASE), Did(mara.did))
    store = Indexed(tmp_path)
    store.write([artist_documents(mara, 0, Labels({record_key(mara.did): said}))])

    assert before == unlabelled
    assert artists.account_labels(store.index, Did("did:plc:other")) == unlabelled
    assert artists.account_labels(store.index, Did(mara.did)) == {
        "labels": ["spam", "rock"],
        "label_details": said,
    }
    store.close()
