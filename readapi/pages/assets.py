"""The static files, named after their content so that browsers may keep them for ever."""

import hashlib
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).parent / "static"
_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".ico": "image/x-icon",
    ".png": "image/png",
    ".svg": "image/svg+xml",
}


@dataclass(frozen=True, slots=True)
class Asset:
    """One file as it is sent."""

    content_type: str
    body: bytes


class Assets:
    """Every static file, read once. `assets["player.css"]` is the address that pages write."""

    def __init__(self, folder: Path = FOLDER) -> None:
        self._addresses: dict[str, str] = {}
        self._files: dict[str, Asset] = {}
        for path in sorted(folder.rglob("*")):
            if path.suffix in _TYPES:
                self._add(path)

    def _add(self, path: Path) -> None:
        body = path.read_bytes()
        name = f"{path.stem}.{hashlib.sha256(body).hexdigest()[:12]}{path.suffix}"
        self._addresses[path.name] = f"/static/{name}"
        self._files[name] = Asset(_TYPES[path.suffix], body)

    def __getitem__(self, plain_name: str) -> str:
        return self._addresses[plain_name]

    def find(self, name: str) -> Asset | None:
        """The file with this hashed name."""
        return self._files.get(name)
