"""A template as a form asks for it: every answer has words, and what cannot be chosen says why."""

from itertools import product

import pytest

from readapi.pages import choices
from schemas.access import DOWNLOADS, LISTENING, VISIBILITY
from schemas.publishing import DEFAULT, Template
from tests.readapi.pages import examples

EVERY = [
    {"access": {"listening": one, "downloads": two, "visibility": three}, "attach_rights": rights}
    for one, two, three, rights in product(LISTENING, DOWNLOADS, VISIBILITY, (True, False))
]


def closed(**reasons: str) -> list[tuple[str, str]]:
    """What cannot be chosen anew, with these reasons, by somebody whose template is open."""
    asked = choices.build_questions(choices.form_values(DEFAULT), reasons)
    return [
        (question.name, choice.value) for question in asked for choice in question.choices if choice.is_closed
    ]


def test_every_template_survives_its_form():
    """What a form is filled with is what it is read as, and each is told in short."""
    templates = [Template.model_validate(one) for one in EVERY]

    assert [choices.template_of(choices.form_values(template)) for template in templates] == EVERY
    assert len({choices.in_short(template) for template in templates}) == len(EVERY) / 2


def test_every_question_offers_what_a_template_may_say():
    """In the order in which the schemas list it."""
    offered = [[choice.value for choice in question.choices] for question in choices.build_questions({}, {})]

    assert offered == [list(LISTENING), list(DOWNLOADS), list(VISIBILITY)]


@pytest.mark.parametrize(
    ("audience", "answers"),
    [
        ("supporters", [("listening", "supporters"), ("downloads", "supporters")]),
        ("space", [("listening", "space"), ("visibility", "private")]),
        ("owner", [("listening", "owner")]),
    ],
)
def test_an_audience_that_is_not_available_closes_every_answer_that_needs_it(audience, answers):
    """And no other."""
    assert closed(**{audience: "Not here."}) == answers
    assert closed() == []


def test_what_was_chosen_before_can_be_kept():
    """The reason is shown all the same."""
    [listening, *_] = choices.build_questions({"listening": "supporters"}, {"supporters": "Not here."})

    [kept] = [choice for choice in listening.choices if choice.is_chosen]
    assert (kept.value, kept.reason, kept.is_closed) == ("supporters", "Not here.", False)


def test_an_unfinished_form_is_an_unfinished_template():
    """Nothing is guessed."""
    assert choices.template_of({"listening": "public", "title": "Song"}) == {
        "access": {"listening": "public"},
        "attach_rights": False,
    }


def test_a_track_without_a_recording_is_heard_by_nobody():
    """Whatever its template says."""
    assert choices.describe_access(examples.track()) == choices.in_short(DEFAULT)
    assert choices.describe_access(examples.track(audio_storage="none")) == "No recording"
