"""Templates → HTML. Everything printed into one is escaped, and rid of what HTML cannot carry."""

import uuid
from pathlib import Path

import jinja2
from markupsafe import Markup

from readapi.pages import choices, text
from readapi.pages.addresses import Addresses
from readapi.pages.assets import Assets
from readapi.pages.metadata import SITE_NAME
from schemas.ids import INVALID_HANDLE

TEMPLATES = Path(__file__).parent / "templates"


class Renderer:
    """The templates, and what all of them may use."""

    def __init__(self, addresses: Addresses, assets: Assets) -> None:
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
            invalid_handle=INVALID_HANDLE,
            addresses=addresses,
            assets=assets,
            new_name=lambda: uuid.uuid4().hex,
        )
        self._environment.tests["web_address"] = text.is_web_address
        self._environment.filters.update(
            clock=text.clock,
            day=text.day,
            in_short=choices.in_short,
            heard_by=choices.heard_by,
            access_in_short=choices.told,
            line=text.line,
            number=text.number,
            script_data=_script_data,
        )

    def page(self, template: str, **values: object) -> bytes:
        """The HTML of one page."""
        return self._environment.get_template(template).render(values).encode()


def _finalize(value: object) -> object:
    if isinstance(value, Markup) or not isinstance(value, str):
        return value
    return text.printable(value)


def _script_data(value: object) -> Markup:
    return Markup(text.script_data(value))  # noqa: S704 - script_data escapes for this very place
