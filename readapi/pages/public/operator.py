"""The operator's own texts: who runs this service, its terms, how it treats personal data, and the contact.

Plain text: blank lines separate paragraphs, a line that begins with `# ` is a heading, addresses are links.
"""

from datetime import datetime, timedelta
from pathlib import Path
from typing import Final, Literal

from readapi.pages.public import metadata
from readapi.pages.public.metadata import SITE_NAME
from readapi.pages.public.views import View
from readapi.pages.urls import Addresses
from schemas import datetimes
from schemas.settings import PREFIX, Settings, SettingsError

Name = Literal["about", "terms", "privacy"]

TITLES: Final[dict[Name, str]] = {"about": "About", "terms": "Terms", "privacy": "Privacy"}
MOST_BYTES: Final = 256 << 10
_VALID_FOR: Final = timedelta(days=30)  # of security.txt: RFC 9116 wants less than a year
_ABOUT: Final = (
    "This service indexes the audio records of the AT Protocol network, and plays what their authors let it "
    "play.\n\n"
    "Tracks, albums, playlists, likes and comments are records in the repositories of the accounts that "
    "wrote them, at servers of their choice. They belong to their authors, who change and delete them there; "
    "this index follows."
)


class OperatorTexts:
    """The texts as they were when the service started. Raises SettingsError where one cannot be read."""

    def __init__(self, settings: Settings) -> None:
        self.contact = settings.contact
        self._texts: dict[Name, str] = {"about": _ABOUT}
        if settings.texts_dir is not None:
            self._texts |= _read_folder(settings.texts_dir)

    @property
    def offered(self) -> dict[Name, str]:
        """The titles of the texts that there are."""
        return {name: title for name, title in TITLES.items() if name in self._texts}

    @property
    def contact_address(self) -> str | None:
        """The contact as an address to follow."""
        if self.contact is None or self.contact.startswith("https://"):
            return self.contact
        return f"mailto:{self.contact}"

    def view(self, name: Name, addresses: Addresses) -> View | None:
        """Template variables of one text's page; None where there is no such text."""
        text = self._texts.get(name)
        if text is None:
            return None
        title = TITLES[name]
        head = metadata.of_page(title, f"{title}: {SITE_NAME}", addresses.page(f"/{name}"))
        return {"head": head, "title": title, "parts": _split(text), "contact": self.contact_address}

    def security_txt(self, addresses: Addresses, now: datetime) -> str | None:
        """https://www.rfc-editor.org/rfc/rfc9116; None without a contact."""
        if self.contact_address is None:
            return None
        expires = datetimes.render(now.replace(hour=0, minute=0, second=0, microsecond=0) + _VALID_FOR)
        lines = {
            "Contact": self.contact_address,
            "Expires": expires,
            "Canonical": addresses.page("/.well-known/security.txt"),
            "Preferred-Languages": "en",
        }
        return "".join(f"{name}: {value}\n" for name, value in lines.items())


def _read_folder(folder: Path) -> dict[Name, str]:
    if not folder.is_dir():
        raise SettingsError(f"{PREFIX}TEXTS_DIR: {folder} is no folder.")
    found: dict[Name, str] = {}
    for name in TITLES:
        file = folder / f"{name}.txt"
        try:
            content = file.read_bytes()
            found[name] = content.decode()
        except FileNotFoundError:
            continue
        except (OSError, UnicodeDecodeError) as error:
            raise SettingsError(f"{PREFIX}TEXTS_DIR: {file} cannot be read ({error}).") from None
        if not found[name].strip() or len(content) > MOST_BYTES:
            raise SettingsError(f"{PREFIX}TEXTS_DIR: {file} is empty or larger than {MOST_BYTES:,} bytes.")
    return found


def _split(text: str) -> list[tuple[Literal["heading", "paragraph"], str]]:
    """Headings and paragraphs, in order."""
    parts: list[tuple[Literal["heading", "paragraph"], str]] = []
    for block in text.replace("\r\n", "\n").split("\n\n"):
        lines = block.strip().split("\n")
        if lines[0].startswith("# "):
            parts.append(("heading", lines.pop(0).removeprefix("# ").strip()))
        if paragraph := "\n".join(lines).strip():
            parts.append(("paragraph", paragraph))
    return parts
