"""What a stranger's player makes of a track."""

import pytest

from readapi.pages.public.player import make_player_track
from tests.readapi.pages.examples import ADDRESSES, AUDIO, restricted, track


def test_a_public_track_is_played_from_its_own_server():
    """The source is the address on the card."""
    heard = make_player_track(track(), ADDRESSES)

    assert (heard.source, heard.silence, heard.length) == (AUDIO, None, "3:07")


@pytest.mark.parametrize(
    ("listening", "sentence"),
    [
        ("signed_in", "Only people who are signed in can listen."),
        ("supporters", "Only supporters of Mara Lindqvist can listen."),
        ("owner", "Only Mara Lindqvist can listen."),
        ("space", "The artist does not share this recording publicly."),
    ],
)
def test_a_restricted_track_says_why_it_is_silent(listening, sentence):
    """There is one sentence, and no address."""
    heard = make_player_track(restricted(listening), ADDRESSES)

    assert (heard.source, heard.silence) == (None, sentence)


def test_gating_wins_over_an_address_on_the_card():
    """Even if a card carried the audio of a gated track, no player would."""
    heard = make_player_track(restricted("supporters", stream_url=AUDIO, audio_storage="pds"), ADDRESSES)

    assert heard.source is None


@pytest.mark.parametrize("broken", [{"audio_storage": "none"}, {"stream_url": "javascript:alert(1)"}])
def test_a_public_track_without_usable_sound_says_so(broken):
    """Not every record came with a recording, and not every address is one."""
    heard = make_player_track(track(**broken), ADDRESSES)

    assert (heard.source, heard.silence) == (None, "This track has no recording.")


@pytest.mark.parametrize("url", ["data:image/svg+xml,x", "https://elsewhere.example/cover.png"])
def test_only_pictures_of_records_are_shown(url):
    """Anything else is left to the drawing that stands for none."""
    assert make_player_track(track(image_url=url), ADDRESSES).picture is None
