"""The wheels: `fmsvc` brings nothing of the servers, and `fmsvc-server` every file of theirs."""

import re
import subprocess
import sys
import sysconfig
import tomllib
import venv
import zipfile
from importlib import metadata
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SERVERS = ("indexer", "lexicons", "readapi", "schemas")
SHARED = {"anyio"}  # the servers name it for themselves; httpx2 brings it to the client too
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def test_both_distributions_have_one_version() -> None:
    """The servers ask for the client of their own version."""
    servers = tomllib.loads((ROOT / "deploy" / "pyproject.toml").read_text())["project"]

    assert servers["dependencies"] == [f"fmsvc[server]=={metadata.version('fmsvc')}"]
    assert metadata.version("fmsvc-server") == metadata.version("fmsvc")


def test_an_editable_install_copies_no_package() -> None:
    """A copy in site-packages would hide later changes of the tree."""
    installed = {path.name for path in Path(sysconfig.get_path("purelib")).iterdir()}

    assert not installed & {*SERVERS, "fmsvc"}


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Each distribution's wheel, built as it is for users."""
    folder = tmp_path_factory.mktemp("wheels")
    pip(
        sys.executable,
        "wheel",
        "--no-deps",
        "--no-build-isolation",
        "--wheel-dir",
        folder,
        ROOT,
        ROOT / "deploy",
    )
    return {wheel.name.split("-")[0]: wheel for wheel in folder.iterdir()}


@pytest.mark.slow
def test_the_wheels_hold_every_file_of_the_tree(wheels: dict[str, Path]) -> None:
    """Modules, templates, static files, SQL, lexicons, `py.typed`; and no file of the other."""
    assert wheels.keys() == {"fmsvc", "fmsvc_server"}
    assert contents(wheels["fmsvc"]) == tree("fmsvc")
    assert contents(wheels["fmsvc_server"]) == tree(*SERVERS)


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_the_client_is_installed_without_the_servers(wheels: dict[str, Path], tmp_path: Path) -> None:
    """In an empty environment: no dependency and no package of theirs; each extra fits in."""
    venv.create(tmp_path)
    python = tmp_path / "bin" / "python"
    tested = tmp_path / "tested.txt"
    tested.write_text(re.sub(r" \\$|^ .*$", "", (ROOT / "requirements.lock").read_text(), flags=re.MULTILINE))

    pip(python, "install", "--no-compile", "--constraint", tested, wheels["fmsvc"])

    installed = {line.split("==")[0].lower() for line in pip(python, "list", "--format=freeze").split()}
    extras = {name: requirements(listed) for name, listed in PROJECT["optional-dependencies"].items()}
    assert requirements(PROJECT["dependencies"]) <= installed
    assert not installed & (set().union(*extras.values()) - SHARED)
    site_packages = {path.name for path in tmp_path.glob("lib/*/site-packages/*")}
    assert "fmsvc" in site_packages
    assert not site_packages & {*SERVERS, "tests"}
    pip(python, "check")
    run(python, "-I", "-c", "import fmsvc")
    assert run(tmp_path / "bin" / "fmsvc", "--version") == f"fmsvc {metadata.version('fmsvc')}\n"

    print_cost(tmp_path, "fmsvc", "fmsvc.Client")

    for extra, imported in (("keyring", "keyring"), ("verify", "fmsvc.verify"), ("mcp", "fmsvc.mcp.server")):
        pip(python, "install", "--no-compile", "--constraint", tested, f"{wheels['fmsvc']}[{extra}]")

        pip(python, "check")
        print_cost(tmp_path, f"fmsvc[{extra}], with those before", imported)


def print_cost(environment: Path, name: str, imported: str) -> None:
    """Size of the environment's packages, and the time of an import; for people who read the log."""
    folder = next(environment.glob("lib/*/site-packages"))
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    timed = (
        "import pkgutil, time; began = time.perf_counter(); "
        f"pkgutil.resolve_name({imported!r}); print(time.perf_counter() - began)"
    )
    run(environment / "bin" / "python", "-I", "-c", timed)  # compiles
    seconds = float(run(environment / "bin" / "python", "-I", "-c", timed))
    print(f"{name}: {size / 1e6:.1f} MB, import of {imported}: {seconds * 1000:.0f} ms")


def requirements(listed: list[str]) -> set[str]:
    return {re.split(r"[^\w.-]", name)[0].lower() for name in listed}


def contents(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as archive:
        return {name for name in archive.namelist() if ".dist-info/" not in name}


def tree(*folders: str) -> set[str]:
    """All files but what Python compiled."""
    found = (path for folder in folders for path in (ROOT / folder).rglob("*") if path.is_file())
    return {path.relative_to(ROOT).as_posix() for path in found if "__pycache__" not in path.parts}


def pip(python: str | Path, *arguments: str | Path) -> str:
    """Run by the tests' own pip: to install one into each environment would take longer than they do."""
    return run(sys.executable, "-m", "pip", "--python", python, "--disable-pip-version-check", *arguments)


def run(*command: str | Path) -> str:
    done = subprocess.run([*map(str, command)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
