"""The true sizes of images, measured once: stores them, and lists the images to measure."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from indexer.catalog.database import LISTED, Database, join_words
from indexer.catalog.projections import Row
from schemas.ids import Did


@dataclass(frozen=True, slots=True)
class Picture:
    """An image that a record of `did` shows."""

    did: Did
    cid: str


@dataclass(frozen=True, slots=True)
class ImageFact:
    """The true size of an image; 0 × 0 for a blob that is no image."""

    cid: str
    width: int
    height: int


class Pictures:
    """The table `images`."""

    def __init__(self, catalogue: Database) -> None:
        self._catalogue = catalogue

    def store(self, facts: Iterable[ImageFact]) -> Collection[str]:
        """Store sizes. Returns the CIDs."""
        images = {fact.cid: fact for fact in facts}
        if images:
            self._catalogue.con.execute(f"delete from images where cid in {LISTED}", [join_words(images)])
            self._catalogue.insert(
                "images",
                [{"cid": cid, "width": fact.width, "height": fact.height} for cid, fact in images.items()],
            )
        return images.keys()

    def unmeasured(self) -> list[Picture]:
        """All images of records that are not measured yet."""
        shown = "select did, image_cid from tracks union select did, image_cid from lists"
        wanted = "image_cid is not null and image_cid not in (select cid from images)"
        found = self._catalogue.rows(f"select * from ({shown}) where {wanted}")
        return [Picture(did, cid) for did, cid in found]

    def unmeasured_in(self, rows: Iterable[Row]) -> list[Picture]:
        """The images of these rows that are not measured yet."""
        pictures = {
            row["image_cid"]: Picture(row["did"], row["image_cid"]) for row in rows if row.get("image_cid")
        }
        if pictures:
            query = f"select cid from images where cid in {LISTED}"
            for (cid,) in self._catalogue.rows(query, [join_words(pictures)]):
                del pictures[cid]
        return list(pictures.values())
