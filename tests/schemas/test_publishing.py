"""Templates resolve whole, are refused whole, and say who loses and who gains: over every combination."""

import itertools

import pytest
from pydantic import ValidationError

from schemas.access import DOWNLOADS, LISTENING, VISIBILITY
from schemas.publishing import (
    DEFAULT,
    OPEN,
    Template,
    TemplateAccess,
    find_fault,
    is_private,
    is_protected,
    narrows,
    needs_rendition,
    resolve_template,
    widens,
)

ACCESSES = [
    TemplateAccess(listening=listening, downloads=downloads, visibility=visibility)  # type: ignore[arg-type]
    for listening, downloads, visibility in itertools.product(LISTENING, DOWNLOADS, VISIBILITY)
]
TEMPLATES = [Template(access=access, attach_rights=rights) for access in ACCESSES for rights in (True, False)]
HEARD_BY = {"public": 3, "signed_in": 2, "supporters": 1, "owner": 0}
SHOWN = {"public": 2, "unlisted": 1}


def made_of(listening: str, downloads: str = "open", visibility: str = "public") -> TemplateAccess:
    return TemplateAccess.model_validate(
        {"listening": listening, "downloads": downloads, "visibility": visibility}
    )


@pytest.mark.parametrize("given", list(itertools.product([None, *TEMPLATES[:3]], repeat=3)))
def test_the_nearest_template_applies_whole(given):
    """Upload, then album, then Portal, then public; nothing is mixed of two."""
    upload, album, portal = given
    expected = (
        (upload, "track")
        if upload is not None
        else (album, "album")
        if album is not None
        else (portal if portal is not None else DEFAULT, "portal")
    )

    assert resolve_template(upload, album, portal) == expected


def test_without_any_template_everything_is_open():
    """What a record without an access snapshot means."""
    assert DEFAULT.model_dump() == {
        "access": {"listening": "public", "downloads": "open", "visibility": "public"},
        "attach_rights": False,
    }


@pytest.mark.parametrize("template", TEMPLATES)
@pytest.mark.parametrize("has_rights", [True, False])
def test_a_template_is_usable_or_its_fault_has_a_field(template, has_rights):
    """Private and space come together; rights to attach must be there."""
    found = find_fault(template, has_rights=has_rights)

    is_split = (template.access.visibility == "private") is not (template.access.listening == "space")
    if is_split:
        assert found is not None
        assert found.field == "access.visibility"
    elif template.attach_rights and not has_rights:
        assert found is not None
        assert found.field == "attach_rights"
    else:
        assert found is None


@pytest.mark.parametrize("template", TEMPLATES)
def test_a_private_template_is_one_that_speaks_of_a_space(template):
    """By either of its two halves, so that an album is refused both."""
    words = {template.access.visibility, template.access.listening}

    assert is_private(template) is bool(words & {"private", "space"})


@pytest.mark.parametrize("access", ACCESSES)
def test_an_original_is_protected_unless_everybody_may_have_it(access):
    """And only public listening of a protected one needs a rendition."""
    everybody_has_it = access.listening == "public" and access.downloads in ("open", "ask")

    assert is_protected(access) is not everybody_has_it


@pytest.mark.parametrize("access", ACCESSES)
def test_a_rendition_is_for_whoever_may_listen_and_not_download(access):
    """Of what nobody but the artist may know of there is no such person."""
    kept = {"supporters": ("public", "signed_in"), "off": ("public", "signed_in", "supporters")}

    hears = access.visibility != "private" and access.listening in kept.get(access.downloads, ())
    assert needs_rendition(access) is hears


@pytest.mark.parametrize("before", ACCESSES)
def test_nothing_is_lost_or_gained_by_staying(before):
    """Any template against itself, and `ask` against `open`."""
    asking = before.model_copy(update={"downloads": "ask"})
    opened = before.model_copy(update={"downloads": "open"})

    assert not narrows(before, before)
    assert not widens(before, before)
    assert not narrows(opened, asking)
    assert not narrows(asking, opened)


SIMPLE = [access for access in ACCESSES if access.listening != "space" and access.visibility != "private"]


@pytest.mark.parametrize("before", SIMPLE)
def test_narrowing_is_somebodys_loss(before):
    """Fewer listeners, fewer downloaders among them, or fewer places to be found in."""
    for after in SIMPLE:
        had, has = _reach(before), _reach(after)
        loses = any(now < then for now, then in zip(has, had, strict=True))

        assert narrows(before, after) is loses, (before, after)
        assert widens(after, before) is loses


def _reach(access: TemplateAccess) -> tuple[int, int, int]:
    heard = HEARD_BY[access.listening]
    had = {"open": heard, "ask": heard, "supporters": min(heard, 1), "off": 0}[access.downloads]
    return heard, had, SHOWN[access.visibility]


def test_a_space_is_other_people_than_supporters():
    """From one to the other somebody gains and somebody loses; its members are part of everybody."""
    space, supporters = made_of("space", visibility="private"), made_of("supporters")

    assert narrows(space, supporters)
    assert widens(space, supporters)
    assert narrows(OPEN, space)
    assert not narrows(space, made_of("signed_in"))
    assert narrows(space, made_of("owner"))


@pytest.mark.parametrize(
    ("sent", "field"),
    [
        ({}, "access"),
        ({"access": OPEN.model_dump()}, "attach_rights"),
        ({"access": {"listening": "public"}, "attach_rights": False}, "access.downloads"),
        (
            {"access": {**OPEN.model_dump(), "listening": "friends"}, "attach_rights": False},
            "access.listening",
        ),
        ({"access": OPEN.model_dump(), "attach_rights": False, "more": 1}, "more"),
        ({"access": {**OPEN.model_dump(), "price": 3}, "attach_rights": False}, "access.price"),
    ],
)
def test_there_are_no_partial_templates_and_no_other_keys(sent, field):
    """The refusal names the field."""
    with pytest.raises(ValidationError) as refused:
        Template.model_validate(sent)

    assert field in {".".join(map(str, error["loc"])) for error in refused.value.errors()}
