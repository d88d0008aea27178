"""docs/add-a-rule.md can be followed as it stands, and docs/faults.md is what the packs say."""
import json
import os
import pathlib
import re
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BIN = pathlib.Path(os.environ.get("MAINSTAY_BIN", ROOT / "build/release/bin"))
PAGE = (ROOT / "docs/add-a-rule.md").read_text()


def mainstay(*arguments):
    return subprocess.run([BIN / "mainstay", *map(str, arguments)], capture_output=True, text=True, timeout=60)


def explained(log, rules):
    run = mainstay("explain", "--kmsg", log, "--rules", rules, "-o", "json")
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout)


@pytest.fixture
def packs(tmp_path):
    """The page's packs: the new one, and the one that is laid over ours."""
    paths = []
    for text in re.findall(r"```yaml\n(.*?)```", PAGE, re.S):
        paths.append(tmp_path / f"{len(paths)}.yaml")
        paths[-1].write_text(text)
    return paths


def test_the_new_pack_is_without_complaint(packs):
    for command in ("lint", "test"):
        run = mainstay("rules", command, "--rules", packs[0])
        assert run.returncode == 0, run.stdout + run.stderr


def test_the_new_pack_finds_its_fault_and_its_end(packs, tmp_path):
    log = tmp_path / "log"
    log.write_text("3,1,1000000,-;acme 0000:5e:00.0: core 3 stopped (code 7)\n")
    told = explained(log, packs[0])
    assert told["action"]["action"] == "reset"
    assert told["conditions"][0]["type"] == "AcmeFault"
    log.write_text(log.read_text() + "6,2,2000000,-;acme 0000:5e:00.0: all cores run\n")
    assert explained(log, packs[0])["conditions"] == []


def test_one_of_ours_is_changed(packs, tmp_path):
    log = tmp_path / "log"
    log.write_text(
        "3,1,1000000,-;NVRM: Xid (PCI:0000:03:00): 109, pid=1, name=x, errorString CTX SWITCH TIMEOUT\n"
        "3,2,1000001,-;NVRM: API mismatch: the client has the version 535.247.01, but\n"
    )
    assert explained(log, packs[1])["action"]["action"] == "none"


def test_the_counters_bear_a_line_out(packs, tmp_path):
    log = tmp_path / "log"
    log.write_text("3,1,1000000,-;neuron: NEURON_HW_ERR=SRAM_UNCORRECTABLE_ERROR instance-id=i hostname=h nd-id=3 nc-id=0 x\n")
    assert explained(log, packs[1])["action"]["action"] == "replace", "the shipped rules do without a witness"
    told = explained(log, packs[2])
    assert told["conditions"] == [] and told["findings"][0]["state"] == "uncorroborated"
    context = tmp_path / "context"
    context.write_text(json.dumps({"neuron_counters": {"3": {"sram_ecc_uncorrected": 2}}}))
    run = mainstay("explain", "--kmsg", log, "--rules", packs[2], "--context", context, "-o", "json")
    assert json.loads(run.stdout)["conditions"][0]["type"] == "NeuronFault", run.stderr
    assert mainstay("rules", "lint", "--rules", packs[2]).returncode == 0


def test_the_catalogue_of_faults_is_current():
    run = mainstay("rules", "list", "-o", "markdown")
    assert (ROOT / "docs/faults.md").read_text() == run.stdout, "write it anew: mainstay rules list -o markdown"
