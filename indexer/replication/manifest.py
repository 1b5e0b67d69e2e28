"""The manifest of a published state: which files it consists of, and where their bytes are. Pure."""

import re
from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Annotated, Any, Final, Literal, NamedTuple, Self

import orjson
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from schemas import data_folder, search_index

CURRENT: Final = "current.json"
LEASE: Final = "lease.json"
NODES: Final = "index"
META: Final = "meta.json"  # of a Tantivy index: names its segments, so that it is put in place after them

# In the order in which followers put them in place: the catalog index last, since it refers to the others.
SEARCH_FOLDERS: Final = tuple(
    f"{data_folder.SEARCH}/{name}"
    for name in (search_index.WORDS_FOLDER, search_index.SOCIAL_FOLDER, search_index.CATALOG_FOLDER)
)
_SEARCH_PATH: Final = re.compile(rf"({'|'.join(SEARCH_FOLDERS)})/[A-Za-z0-9][A-Za-z0-9.]*")
_COPY_PATH: Final = re.compile(
    rf"({data_folder.SNAPSHOTS}|{data_folder.EXPORTS}(/[\w-]+)?|{data_folder.CHANGES})/[\w-]+(\.[a-z]+)?"
)


def _check_search_path(path: str) -> str:
    if not _SEARCH_PATH.fullmatch(path):
        raise ValueError(f"{path[:80]!r} is no file of the search index")
    return path


def _check_copy_path(path: str) -> str:
    if not _COPY_PATH.fullmatch(path):
        raise ValueError(f"{path[:80]!r} is no file that is published")
    return path


SearchPath = Annotated[str, AfterValidator(_check_search_path)]
CopyPath = Annotated[str, AfterValidator(_check_copy_path)]
NodeName = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]{0,62}$")]
Key = Annotated[str, Field(pattern=rf"^{NODES}/[\w./-]+$", max_length=200)]


class Piece(NamedTuple):
    """Where a file's bytes are: the bundle's place in the manifest, an offset in it; their CRC-32."""

    bundle: int
    offset: int
    size: int
    check: int


class Manifest(BaseModel):
    """A state of one indexer's published files.

    `number` rises from one manifest to the next, and begins at the Unix time in milliseconds in each process:
    the former highest one may be unknown, as `current.json` may be another indexer's by then.

    `report`: the indexer's health, taken at the Unix time `at`, before the files were looked at: they are at
    least as fresh as it says. `nudges`: where the indexer takes nudges from other machines.
    `copies`: the key of the CopySet.
    """

    model_config = ConfigDict(frozen=True, extra="ignore")

    format: Literal[1] = 1
    node: NodeName
    epoch: int
    number: int
    at: float
    report: dict[str, Any]
    nudges: str | None = None
    bundles: tuple[Key, ...] = ()
    files: dict[SearchPath, Piece] = {}
    copies: Key | None = None

    @model_validator(mode="after")
    def _pieces_have_bundles(self) -> Self:
        if any(not 0 <= piece.bundle < len(self.bundles) for piece in self.files.values()):
            raise ValueError("a file is in no bundle")
        return self

    @property
    def order(self) -> tuple[int, int]:
        """Grows with each state that followers are to show."""
        return self.epoch, self.number

    def encoded(self) -> bytes:
        return orjson.dumps(self.model_dump())


class CopySet(BaseModel):
    """Files that are replaced as a whole: the key of each one's BlockList; and the links among them."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    files: dict[CopyPath, Key] = {}
    links: dict[CopyPath, CopyPath] = {}


class Stored(NamedTuple):
    """A file in a bundle."""

    bundle: str
    offset: int
    size: int
    check: int


def pieces_of(stored: Mapping[str, Stored]) -> tuple[tuple[str, ...], dict[str, Piece]]:
    """A manifest's bundles, and its files as pieces of them."""
    bundles = tuple(sorted({file.bundle for file in stored.values()}))
    places = {key: place for place, key in enumerate(bundles)}
    return bundles, {path: Piece(places[file[0]], *file[1:]) for path, file in stored.items()}


def stored_of(manifest: Manifest) -> dict[str, Stored]:
    """The files of a manifest by where they are stored."""
    return {path: Stored(manifest.bundles[piece[0]], *piece[1:]) for path, piece in manifest.files.items()}


def shown_last(path: str) -> tuple[int, int]:
    """Sorts files so that each index's state is put in place after what it names, the catalog's last."""
    folder, name = PurePosixPath(path).parent.as_posix(), PurePosixPath(path).name
    return (1, SEARCH_FOLDERS.index(folder)) if name == META else (0, 0)


def node_prefix(node: str) -> str:
    """The prefix of one indexer's objects."""
    return f"{NODES}/{node}"


def manifest_key(node: str) -> str:
    """The key of the manifest of an indexer that does not hold the lease."""
    return f"{node_prefix(node)}/manifest.json"
