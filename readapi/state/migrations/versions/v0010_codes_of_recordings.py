"""Removes ISRC and ISWC, which belong to one recording, from accounts' saved rights."""

import json

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"

CODES = ("isrc", "iswc")
SAVED = sa.text("select did, rights, publishing_defaults from preferences where rights is not null")
SAVE = sa.text("update preferences set rights = :rights, publishing_defaults = :template where did = :did")
ALBUMS = sa.text("select album_uri, template from album_templates")
SAVE_ALBUM = sa.text("update album_templates set template = :template where album_uri = :uri")


def upgrade() -> None:
    """Saved for an account, they were attached to every track. Records that have them keep them.

    An account whose saved rights become empty has no template that attaches rights any more.
    """
    connection, without_rights = op.get_bind(), set()
    for did, rights, template in connection.execute(SAVED).all():
        left = {name: value for name, value in json.loads(rights).items() if name not in CODES}
        if not left:
            without_rights.add(did)
        told = {"rights": json.dumps(left), "template": template}
        nothing = {"rights": None, "template": _attaching_none(template)}
        connection.execute(SAVE, {"did": did, **(told if left else nothing)})
    for uri, template in connection.execute(ALBUMS).all():
        if uri.split("/")[2] in without_rights:
            connection.execute(SAVE_ALBUM, {"uri": uri, "template": _attaching_none(template)})


def _attaching_none(template: str | None) -> str | None:
    return None if template is None else json.dumps({**json.loads(template), "attach_rights": False})
