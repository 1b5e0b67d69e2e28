"""Documents read where they lie are those that Tantivy tells of; other formats are refused."""

import os
import random

import orjson
import pytest
import tantivy

from indexer.search.folder import IndexFolder as Folder
from readapi.index.folder import IndexFolder as Reader
from schemas import data_folder, search_index
from schemas.document_store import DocumentStore, UnknownFormat
from tests.readapi.indexed import Indexed, person, track_documents

OWNER = person("ana", "Ana")


@pytest.fixture
def indexed(tmp_path):
    index = Indexed(tmp_path)
    yield index
    index.close()


def numbered(*numbers):
    return [track_documents(number, f"Song {number}", OWNER, description="x" * number) for number in numbers]


def test_documents_are_those_that_tantivy_tells_of(indexed):
    """In several blocks and segments, after some were replaced and others dropped."""
    dice = random.Random(1)
    indexed.write(numbered(*range(400)))
    for _ in range(8):
        indexed.write(numbered(*dice.sample(range(500), 30)))
        indexed.drop(*(f"track:{number}" for number in dice.sample(range(400), 5)))

    searcher = indexed.index.catalog.searcher
    found = [address for _, address in searcher.search(tantivy.Query.all_query(), 1000, count=False).hits]
    told = [searcher.doc(address)[search_index.STORED][0] for address in found]

    assert len(found) > 350
    assert searcher.num_segments > 1
    assert all(folder.is_mapped for folder in (indexed.index.catalog, indexed.index.social))
    assert indexed.index.catalog.stored(found) == told


def test_documents_of_every_length(tmp_path):
    """Around the sizes at which a document's length takes one byte more."""
    folder = Folder.open(tmp_path, search_index.catalog_schema())
    told = [random.Random(1).randbytes(1 << 7 * bits) for bits in (1, 2, 3)]
    told = [b"", b"a", *(one[: len(one) + less] for one in told for less in range(-3, 1)), *told]
    told += [one + b"more" for one in told]
    for one in told:
        folder.writer.add_document(tantivy.Document(stored=one))
    folder.commit(1)
    folder.close()
    [file] = tmp_path.glob("*.store")

    store = DocumentStore(file)

    assert [store.get(number) for number in range(len(told))] == told


def test_what_is_read_ahead_is_what_is_read(indexed, tmp_path, monkeypatch):
    """The entry and all of each document, of the last ones of blocks too; and no more."""
    indexed.write(numbered(*range(400)))
    folder = tmp_path / data_folder.SEARCH / "catalog"
    store = DocumentStore(max(folder.glob("*.store"), key=lambda path: path.stat().st_size))
    fetched: list[bytes] = []
    monkeypatch.setattr(
        DocumentStore,
        "_fetch",
        lambda self, parts: fetched.extend(self._bytes[begin:end].tobytes() for begin, end in parts),
    )

    store.read_ahead(range(store.count))

    entries, documents = fetched[: store.count], fetched[store.count :]
    assert {len(entry) for entry in entries} == {8}
    assert all(
        document.endswith(store.get(number)) and len(document) <= len(store.get(number)) + 10
        for number, document in enumerate(documents)
    )


def test_reading_ahead_changes_no_answer(indexed):
    """The system is asked for pages up to the end of the file."""
    indexed.write(numbered(*range(100)))
    [store, *_] = indexed.index.catalog._stores
    before = [store.get(number).tobytes() for number in range(store.count)]

    store.read_ahead(range(store.count))

    assert [store.get(number) for number in range(store.count)] == before


@pytest.mark.skipif(not hasattr(os, "memfd_create"), reason="only Linux has files in memory")
def test_reading_ahead_waits_in_the_system(indexed, monkeypatch):
    """Which copies all of each document: so the disk is waited for there, not with Python's lock held."""
    indexed.write(numbered(*range(1100)))
    [store, *_] = indexed.index.catalog._stores
    copied: list[bytes] = []
    write = os.pwritev

    def noted(file, parts, at):
        copied.extend(map(bytes, parts))
        return write(file, parts, at)

    monkeypatch.setattr(os, "pwritev", noted)

    store.read_ahead(range(store.count))

    assert len(copied) == 2 * store.count > 2048
    assert all(document.endswith(store.get(number)) for number, document in enumerate(copied[store.count :]))


def test_an_index_that_stores_otherwise_is_asked(indexed, tmp_path):
    """Slower, with the same answers."""
    folder = tmp_path / "other"
    folder.mkdir()
    other = tantivy.Index(search_index.catalog_schema(), str(folder))
    search_index.register_tokenizers(other)
    writer = other.writer(num_threads=1)
    writer.add_document(tantivy.Document(doc=["track:1"], stored=[b"bytes"]))
    writer.commit()

    (folder / search_index.VERSION_FILE).write_text(str(search_index.VERSION))

    reader = Reader(folder, search_index.catalog_schema())
    reader.refresh()

    [address] = [address for _, address in reader.searcher.search(reader.term("doc", "track:1")).hits]
    assert not reader.is_mapped
    assert reader.stored([address]) == [b"bytes"]


@pytest.mark.parametrize("damage", ["magic", "version", "compression", "format"])
def test_other_formats_are_refused(indexed, tmp_path, damage):
    """Every mark of the format is looked at."""
    indexed.write(numbered(1, 2, 3))
    file = max(
        (tmp_path / data_folder.SEARCH / "catalog").glob("*.store"), key=lambda path: path.stat().st_size
    )
    content = bytearray(file.read_bytes())
    footer_at = len(content) - 8 - int.from_bytes(content[-8:-4], "little")
    at = {"magic": -4, "version": footer_at - 28, "compression": footer_at - 16, "format": None}[damage]
    if at is None:
        footer = orjson.loads(content[footer_at:-8])
        assert footer["version"]["index_format_version"] == 7
        content[footer_at:-8] = content[footer_at:-8].replace(b'_version":7', b'_version":8')
    else:
        content[at] += 1
    (tmp_path / "changed.store").write_bytes(content)

    assert DocumentStore(file).count == 3 + 1
    with pytest.raises(UnknownFormat):
        DocumentStore(tmp_path / "changed.store")
