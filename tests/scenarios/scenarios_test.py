"""Every scenario of this folder goes as it says, with several orders of what happens at the same moment; and a wrong page is
refused with each mistake's place.
"""
import json
import os
import pathlib
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
BIN = pathlib.Path(os.environ.get("MAINSTAY_BIN", ROOT / "build/release/bin"))
SCENARIOS = sorted(HERE.glob("*.yaml"))
GOOD = """\
scenario: nothing happens
nodes: [{name: a}]
expect:
  - {node: a, ready: true}
"""


def simulate(*arguments):
    return subprocess.run(
        [BIN / "mainstay", "simulate", *map(str, arguments)], capture_output=True, text=True, timeout=110
    )


@pytest.mark.parametrize("page", SCENARIOS, ids=lambda path: path.stem)
def test_goes_as_it_says(page):
    run = simulate("--scenario", page, "--seeds", 3)
    assert run.returncode == 0, run.stdout + run.stderr


@pytest.fixture
def page(tmp_path):
    def write(text):
        path = tmp_path / "page.yaml"
        path.write_text(text)
        return path

    return write


@pytest.mark.parametrize(
    "text, place, says",
    [
        (GOOD.replace("ready", "redy"), ":4:21", "did you mean ready?"),
        (GOOD.replace("nodes", "nods"), ":2:1", "did you mean nodes?"),
        (GOOD.replace("true", "maybe"), ":4:22", "true or false"),
        (GOOD + "timeline:\n  - {at: soon, kill: {node: a}}\n", ":6:10", "duration"),
        (GOOD + "timeline:\n  - {at: 1s, kil: {node: a}}\n", ":6:14", "did you mean kill?"),
        (GOOD + "timeline:\n  - {at: 1s}\n", ":6:5", "exactly one of"),
        (GOOD.replace("ready: true", "by: 1s"), ":4:5", "says nothing about a"),
        ("scenario: x\nnodes: [{name: a}]\n", "", "must follow"),
        (GOOD.replace("[{name: a}]", "[{name: a}"), ":3:1", ""),
    ],
)
def test_a_wrong_page_is_refused_with_its_place(page, text, place, says):
    path = page(text)
    run = simulate("--scenario", path)
    assert run.returncode == 2, run.stdout + run.stderr
    assert f"{path}{place}" in run.stderr
    assert says in run.stderr


def test_a_missing_page_is_refused(tmp_path):
    run = simulate("--scenario", tmp_path / "none.yaml")
    assert run.returncode == 2
    assert "none.yaml" in run.stderr


def test_a_policy_that_the_api_refuses_is_a_wrong_page(page):
    run = simulate("--scenario", page(GOOD + "policy: {mode: Enfroce}\n"))
    assert run.returncode == 2, run.stdout + run.stderr
    assert "RecoveryPolicy default" in run.stderr


def test_what_is_not_so_is_reported_with_its_line(page):
    path = page(GOOD.replace("true", "false"))
    run = simulate("--scenario", path)
    assert run.returncode == 1
    assert "NOT MET" in run.stdout
    assert f"{path}:4" in run.stdout
    assert "ready: true" in run.stdout


def test_the_same_seed_gives_the_same_run():
    page = HERE / "replaced-and-resumed.yaml"
    runs = [simulate("--scenario", page, "--seed", 7, "-o", "json").stdout for _ in range(2)]
    assert runs[0] == runs[1]
    document = json.loads(runs[0])
    assert document["ok"] and document["seed"] == 7
    assert {"agent", "controller", "cloud"} <= {line["who"] for line in document["timeline"]}


if __name__ == "__main__":
    sys.exit(subprocess.call([sys.executable, "-m", "pytest", "-q", __file__]))
