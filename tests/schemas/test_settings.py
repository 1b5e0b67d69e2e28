"""Every setting is a variable, and a wrong one stops the start with a sentence naming it."""

import subprocess
import sys
from pathlib import Path

import pytest

from schemas.settings import Settings, SettingsError


def test_defaults_need_no_variable() -> None:
    """An empty environment is a working configuration."""
    settings = Settings.from_environment({"HOME": "/root"})

    assert settings.relay.startswith("wss://")
    assert settings.base_url == "http://127.0.0.1:8000"
    assert settings.collections.track == "fm.svc.track"


def test_values_come_from_the_environment() -> None:
    """Text becomes what the field is."""
    settings = Settings.from_environment(
        {
            "FMSVC_PORT": "9000",
            "FMSVC_DATA_DIR": "/srv/fm",
            "FMSVC_ALLOW_LOOPBACK": "true",
            "FMSVC_TRUSTED_PROXIES": "10.0.0.0/8, 192.168.1.1",
            "FMSVC_PUBLIC_URL": "https://music.example/",
            "FMSVC_NAMESPACE": "fm.svc.dev",
            "FMSVC_SECRET_KEYS": f"{'A' * 43}=, {'_' * 43}=",
        }
    )

    assert settings.port == 9000
    assert settings.data_dir == Path("/srv/fm")
    assert settings.allow_loopback is True
    assert settings.secret_keys == ("A" * 43 + "=", "_" * 43 + "=")
    assert "AAAA" not in repr(settings)
    assert settings.trusted_proxies == ("10.0.0.0/8", "192.168.1.1")
    assert settings.base_url == "https://music.example"
    assert settings.collections.profile == "fm.svc.dev.actor.profile"


def test_variables_of_the_client_are_not_settings() -> None:
    """Both programs may be used in one shell."""
    assert Settings.from_environment({"FMSVC_API_URL": "http://x", "FMSVC_TOKEN": "x"}) == Settings()


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("FMSVC_PROT", "1", "FMSVC_PROT is not a setting; did you mean FMSVC_PORT?"),
        ("FMSVC_XYZZY", "1", "FMSVC_XYZZY is not a setting."),
        ("FMSVC_PORT", "eighty", "FMSVC_PORT: Input should be a valid integer"),
        ("FMSVC_PORT", "70000", "FMSVC_PORT: Input should be less than"),
        ("FMSVC_RELAY", "https://relay.example", "FMSVC_RELAY: must begin with ws://"),
        ("FMSVC_JETSTREAM", "jetstream.example", "FMSVC_JETSTREAM: must begin with ws://"),
        (
            "FMSVC_NAMESPACE",
            "not a name",
            "FMSVC_NAMESPACE: must be a domain in reverse order",
        ),
        ("FMSVC_RATE_LIMIT", "lots", "FMSVC_RATE_LIMIT: must look like 100/minute."),
        ("FMSVC_START", "yesterday", "FMSVC_START: Input should be 'oldest' or 'live'."),
        ("FMSVC_PLC_URL", "plc.directory", "FMSVC_PLC_URL: must begin with http:// or https://."),
        (
            "FMSVC_TRUSTED_PROXIES",
            "my-proxy",
            "my-proxy is not an address or a network.",
        ),
        ("FMSVC_STATE_URL", "mysql://db", "FMSVC_STATE_URL: must begin with postgresql://."),
        ("FMSVC_SECRET_KEYS", f"{'A' * 43}=,secret", "key 2 is not 32 bytes in base64."),
        ("FMSVC_FLIGHT_PORT", "8815", "FMSVC_FLIGHT_PORT needs FMSVC_SQL=true."),
        ("FMSVC_PORT", "0", "port 0 needs FMSVC_PUBLIC_URL, because answers carry absolute addresses."),
    ],
)
def test_a_wrong_variable_is_named(name: str, value: str, said: str) -> None:
    """The sentence tells which variable, and what it should be."""
    with pytest.raises(SettingsError) as refused:
        Settings.from_environment({name: value})

    assert said in str(refused.value)


@pytest.mark.slow
def test_the_server_does_not_start_with_a_misspelt_variable() -> None:
    """Exit code 2 and one line, before anything is opened."""
    started = subprocess.run(
        [sys.executable, "-m", "readapi", "serve"],
        env={"FMSVC_DATADIR": "/nowhere", "PATH": ""},
        capture_output=True,
        text=True,
        timeout=60,
    )

    assert started.returncode == 2
    assert started.stderr == "fmsvc-server: FMSVC_DATADIR is not a setting; did you mean FMSVC_DATA_DIR?\n"
    assert started.stdout == ""
