"""What `deploy/` ships fits the service, and docs/operations.md tells of all of it."""

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from deploy.wheel_sources import FOLDERS
from readapi.__main__ import app
from tests.readapi.studio import Studio

ROOT = Path(__file__).parents[3]
DEPLOY = ROOT / "deploy"
RULES, DASHBOARD = DEPLOY / "prometheus-rules.yml", DEPLOY / "grafana-dashboard.json"
OPERATIONS = (ROOT / "docs" / "operations.md").read_text()
EXPOSED = "20"  # tenths: most that `systemd-analyze security` may find
SELECTOR = re.compile(r"\b((?:fmsvc|process)_[a-z_]+)(?:\{([^}]*)\})?")

# A counter that was not there before counts as one that rose.
OUTLINE = """
rule_files: [{rules}]
evaluation_interval: 1m
tests:
  - interval: 1m
    input_series:
      - series: 'fmsvc_faults_total{{process="indexer",where="a"}}'
        values: '_x90 1x30'
      - series: 'fmsvc_up{{process="work"}}'
        values: '1x100 0x20'
    alert_rule_test:
      - eval_time: 100m
        alertname: FmsvcFaults
        exp_alerts:
          - exp_labels: {{severity: warning, process: indexer, where: a}}
            exp_annotations:
              summary: "An unexpected error: report it with the dead letter that has its traceback."
      - eval_time: 90m
        alertname: FmsvcProcessDown
      - eval_time: 110m
        alertname: FmsvcProcessDown
        exp_alerts:
          - exp_labels: {{severity: critical, process: work}}
            exp_annotations: {{summary: "The process work does not answer."}}
"""


def program(name: str) -> str:
    """CI must have it; elsewhere tests without it are skipped."""
    found = shutil.which(name) or shutil.which(name, path=Path(sys.executable).parent)
    if found is None:
        tell = pytest.fail if os.environ.get("CI") else pytest.skip
        tell(f"no {name} is installed")
    return found


def run(*command: str | Path, cwd: Path = ROOT) -> None:
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr


def expressions() -> list[str]:
    """What the alerts and the dashboard ask Prometheus for."""
    alerts = re.findall(r"^ *expr: (.*)$", RULES.read_text(), re.MULTILINE)
    panels = json.loads(DASHBOARD.read_text())["panels"]
    return [*alerts, *(target["expr"] for panel in panels for target in panel["targets"])]


def test_rates_are_of_counters_and_nothing_else_is() -> None:
    """`delta` of a counter falls when its process restarts; `rate` of a gauge is no number of anything."""
    for expression in expressions():
        for function, name in re.findall(r"(\w+)\((\w+)(?:\{[^}]*\})?\[", expression):
            is_counter = name.endswith(("_total", "_bucket", "_count", "_sum"))
            assert is_counter == (function in {"rate", "increase"}), expression


@pytest.mark.network
@pytest.mark.asyncio(loop_scope="session")
@pytest.mark.slow
async def test_every_metric_that_is_asked_for_is_there(studio: Studio) -> None:
    """With the labels that it is asked by; Prometheus adds `job` and `instance`, and histograms `le`."""
    await studio.door.ask("GET", "/stats")
    text = (await studio.door.ask("GET", "/metrics")).json
    labels: dict[str, set[str]] = {}
    for family in text_string_to_metric_families(text):
        labels.setdefault(family.name + ("_total" if family.type == "counter" else ""), set())
        for sample in family.samples:
            labels.setdefault(sample.name, set()).update(sample.labels)

    asked = [found for expression in expressions() for found in SELECTOR.findall(expression)]
    assert len(asked) > 40
    for name, matchers in asked:
        assert name in labels, f"there is no metric {name}"
        wanted = set(re.findall(r"(\w+)\s*[=!]", matchers)) - {"job", "instance"}
        assert wanted <= labels[name] or not labels[name], f"{name} has no label {wanted - labels[name]}"


def test_the_alerts_are_as_prometheus_wants_them(tmp_path: Path) -> None:
    """By its own checks; and they tell what they are to tell."""
    promtool = program("promtool")
    (tmp_path / "test.yml").write_text(OUTLINE.format(rules=RULES))

    run(promtool, "check", "rules", RULES)
    run(promtool, "test", "rules", tmp_path / "test.yml")


def test_operations_tells_of_each_alert() -> None:
    for name in re.findall(r"alert: (\w+)", RULES.read_text()):
        assert f"{name}" in OPERATIONS.split("| alert |")[1].split("\n## ")[0], name


def test_operations_names_commands_and_files_that_there_are() -> None:
    """Commands of the service, with their options, and paths of the tree."""
    commands = {name for command in app.resolved_commands() for name in (command, "--version")}

    for command, options in re.findall(r"fmsvc-server ([\w-]+)([^`\n]*)", OPERATIONS):
        assert command in commands, command
        assert set(re.findall(r"--[\w-]+", options)) <= {"--repair", "--reason"}
    for path in re.findall(r"\b(?:deploy|docs)/[\w./-]*\w", OPERATIONS):
        assert (ROOT / path).exists(), path
    for page in re.findall(r"\]\(([\w./-]+)", OPERATIONS):
        assert (ROOT / "docs" / page).exists(), page


def test_the_unit_is_as_systemd_wants_it(tmp_path: Path) -> None:
    """And shuts the service in."""
    analyze = program("systemd-analyze")
    text = (DEPLOY / "fmsvc.service").read_text()
    assert "ExecStart=/opt/fmsvc/bin/fmsvc-server serve\n" in text
    unit = tmp_path / "fmsvc.service"
    unit.write_text(text.replace("/opt/fmsvc/bin/fmsvc-server", sys.executable))

    run(analyze, "verify", unit)
    run(analyze, "security", "--offline=yes", f"--threshold={EXPOSED}", unit)


def test_the_containerfile_copies_every_package() -> None:
    """From paths that exist, without a fault that hadolint knows."""
    text = (DEPLOY / "Containerfile").read_text()
    copied = [line.split()[1:-1] for line in text.splitlines() if re.match(r"COPY (?!--)", line)]

    paths = {path for line in copied for path in line}
    sources = {"pyproject.toml", "deploy/pyproject.toml", "deploy/wheel_sources.py"}
    assert {"fmsvc", *FOLDERS, *sources} <= paths
    ignored = (ROOT / ".containerignore").read_text()
    for path in paths:
        assert (ROOT / path).exists(), path
        assert f"\n!{path}\n" in ignored, path
    assert "fmsvc-server" in tomllib.loads((DEPLOY / "pyproject.toml").read_text())["project"]["scripts"]
    assert 'ENTRYPOINT ["fmsvc-server"]' in text
    run(program("hadolint"), DEPLOY / "Containerfile")


def test_what_is_installed_is_what_was_tested() -> None:
    """The versions are those of requirements.lock; all dependencies are there, and nothing of the tests."""
    tested, shipped = (versions(ROOT / place / "requirements.lock") for place in ("", "deploy"))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    dependencies = [*project["dependencies"], *project["optional-dependencies"]["server"]]
    needed = {re.split(r"[^\w.-]", name)[0].lower() for name in dependencies}

    assert needed <= shipped.keys(), needed - shipped.keys()
    assert {name: version for name, version in shipped.items() if tested.get(name, version) != version} == {}
    assert "pytest" not in shipped


def versions(lock: Path) -> dict[str, str]:
    return dict(re.findall(r"^([\w.-]+)==([^\s;]+)", lock.read_text(), re.MULTILINE))
