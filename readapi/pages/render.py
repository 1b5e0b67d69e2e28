"""Renders templates as HTML. Every value is escaped, and characters that HTML forbids are removed."""

import uuid
from pathlib import Path
from typing import Final

import jinja2
from markupsafe import Markup

from readapi.http.request.page_forms import file_too_large
from readapi.pages import choices, text
from readapi.pages.assets import Assets
from readapi.pages.public.metadata import SITE_NAME
from readapi.pages.public.operator import OperatorTexts
from readapi.pages.urls import Addresses
from schemas.bounds import MAX_IMAGE_BYTES
from schemas.ids import INVALID_HANDLE
from schemas.pictures import SIDES, picture_of
from schemas.settings import Settings

TEMPLATES = Path(__file__).parent / "templates"

# Templates of macros, by the names by which pages call them; and parts that are the same on all pages.
_MACROS: Final = {
    "fields": "fields.html",
    "forms": "forms.html",
    "parts": "browse_parts.html",
    "player": "player.html",
    "statement": "statement.html",
    "weekly": "charts.html",
    "work": "work.html",
}
_FIXED: Final = ("foot", "icons", "scripts")


class Renderer:
    """The templates, and the functions and values that all of them may use."""

    def __init__(self, addresses: Addresses, assets: Assets, settings: Settings | None = None) -> None:
        """Raises SettingsError where a text of the operator cannot be read."""
        settings = settings or Settings()
        self.texts = OperatorTexts(settings)
        self.addresses = addresses
        self.assets = assets
        self._environment = jinja2.Environment(
            loader=jinja2.FileSystemLoader(TEMPLATES),
            autoescape=True,
            undefined=jinja2.StrictUndefined,
            finalize=_finalize,
            trim_blocks=True,
            lstrip_blocks=True,
            auto_reload=False,
        )
        self._environment.globals.update(
            site_name=SITE_NAME,
            account=None,
            note=None,
            sign_in=None,
            picture_sides=SIDES,
            invalid_handle=INVALID_HANDLE,
            addresses=addresses,
            assets=assets,
            operator_texts=self.texts.offered,
            new_name=lambda: uuid.uuid4().hex,
            most_image_bytes=min(settings.image_bytes, MAX_IMAGE_BYTES),
            most_recording_bytes=settings.upload_bytes,
        )
        self._environment.tests["web_address"] = text.is_web_address
        self._environment.filters.update(
            clock=text.format_clock,
            day=text.format_day,
            in_short=choices.in_short,
            heard_by=choices.heard_by,
            access_in_short=choices.describe_access,
            file_too_large=file_too_large,
            line=text.one_line,
            number=text.format_count,
            picture=picture_of,
            script_data=_script_data,
        )

        # Made once: an import or an inclusion in a template costs a page as much as several rows of a list.
        for name, file in _MACROS.items():
            self._environment.globals[name] = self._environment.get_template(file).module
        self._environment.globals["fixed"] = {name: self._part(f"{name}.html") for name in _FIXED}

    def _part(self, template: str) -> Markup:
        return Markup(self._environment.get_template(template).render())  # noqa: S704 - escaped by rendering

    def page(self, template: str, **values: object) -> bytes:
        """The HTML of one page."""
        return self._environment.get_template(template).render(values).encode()


def _finalize(value: object) -> object:
    # Nothing that is dropped is printable, and most texts are. Markup is a type of its own.
    return value if type(value) is not str or value.isprintable() else text.drop_unprintable(value)


def _script_data(value: object) -> Markup:
    return Markup(text.script_data(value))  # noqa: S704 - script_data escapes for this very place
