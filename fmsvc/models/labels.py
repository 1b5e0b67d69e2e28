"""Labels of records and accounts."""

from datetime import datetime

from pydantic import BaseModel


class LabelDetail(BaseModel):
    """Who (`src`) says what (`val`) of which account or record (`uri`); `cid`: of which version alone."""

    val: str
    src: str
    uri: str
    cid: str | None = None
    cts: datetime | None = None
    exp: datetime | None = None
