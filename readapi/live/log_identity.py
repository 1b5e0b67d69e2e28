"""Identifies a data folder's change log: positions of different logs cannot be compared."""

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
