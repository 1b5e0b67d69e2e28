"""Which change log a position is of: each data folder has a log of its own, with positions of its own."""

import os
import uuid
from pathlib import Path
from typing import Final

FILE: Final = "changes.id"


def log_identity(data_dir: Path) -> str:
    """The identity of a data folder's log, made when it is first asked for, by one process."""
    path = data_dir / FILE
    if not path.exists():
        draft = path.with_name(f".{FILE}.{uuid.uuid4().hex}")
        draft.write_text(uuid.uuid4().hex)
        try:
            os.link(draft, path)
        except FileExistsError:
            pass
        finally:
            draft.unlink()
    return path.read_text()
