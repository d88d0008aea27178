"""Kernel logs after public reports, driver sources and vendor documents, each with what must come of it: `mainstay explain`
finds the condition, its subject, the Events and the action that are expected, and nothing of what must not be.

NAME.kmsg is the log, NAME.expect.json the expectation. Names of types and reasons there are those of our packs; a condition
may have another type (`type_also`) or subject (`subject_also`), an action may be one of `also_ok`.

B13 and B14 are also about a restart of the agent: src/agent/agent_restart_test.cc plays them.
"""
import json
import os
import pathlib
import subprocess

import pytest

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
BIN = pathlib.Path(os.environ.get("MAINSTAY_BIN", ROOT / "build/release/bin"))
CASES = sorted(path.stem for path in HERE.glob("*.kmsg"))


class Told:
    """What `mainstay explain` says of a case."""

    def __init__(self, case, context):
        run = subprocess.run(
            [BIN / "mainstay", "explain", "--kmsg", HERE / f"{case}.kmsg", "--context", context, "-o", "json"],
            capture_output=True,
            timeout=60,
        )
        assert run.returncode == 0, run.stderr.decode()
        self.text = run.stdout.decode("utf-8", errors="strict")
        self.document = json.loads(self.text)
        self.conditions = self.document["conditions"]
        self.types = {condition["type"] for condition in self.conditions}
        self.events = self.document["events"]
        self.findings = self.document["findings"]
        self.standing = [finding for finding in self.findings if finding["state"] == "stands"]
        self.action = self.document["action"]["action"]

    def count(self, reason, subject):
        """Events of their own; the change of a condition has one more, with the condition's reason."""
        return sum(
            event["reason"] == reason and subject in event["message"] and event["condition"] in ("", "MonitorDegraded")
            for event in self.events
        )


# What a word of `must` and `must_not` asks of what was told.
MUST = {
    "exactly one condition": lambda told: len(told.conditions) == 1,
    "Xid 154 folded into the same fault": lambda told: all(finding["code"] != "154" for finding in told.standing),
    "deep check requested": lambda told: any("deep check requested" in finding["advice"] for finding in told.standing),
    # A True condition is what keeps it away; the fault is of the fabric, which jobs use.
    "new work kept away from the node": lambda told: bool(told.conditions),
    "at most 2 node status writes": lambda told: sum(event["condition"] != "" for event in told.events) <= 2,
    "reader still alive afterwards": lambda told: bool(told.standing),
}
MUST_NOT = {
    "any condition": lambda told: bool(told.conditions),
    "attribute the fault to 0000:ac:00.0": lambda told: any("0000:ac:00" in one["subject"] for one in told.conditions),
    "kill running job": lambda told: told.action != "none",
    "replace before the check": lambda told: told.action == "replace",
    "reset": lambda told: told.action == "reset",
    "reboot": lambda told: told.action == "reboot",
    "replace": lambda told: told.action == "replace",
    "GPUFault": lambda told: "GPUFault" in told.types,
    "NeuronFault": lambda told: "NeuronFault" in told.types,
    "ReadonlyFilesystem": lambda told: "ReadonlyFilesystem" in told.types,
}


def wrong_conditions(expected, told):
    """Expected ones that were not told, and told ones that were not expected."""
    rest = list(told.conditions)
    for want in expected["conditions"]:
        types = {want["type"], *expected.get("type_also", {}).get(want["type"], [])}
        subject = want.get("subject")
        subjects = {subject, *expected.get("subject_also", {}).get(subject, [])}
        match = [one for one in rest if one["type"] in types and (subject is None or one["subject"] in subjects)]
        if not match:
            yield f"missing: {want}"
        else:
            rest.remove(match[0])
    if "An extra subject" not in expected.get("note", ""):
        yield from (f"not expected: {one}" for one in rest)
    elif expected["conditions"]:
        allowed = {want["type"] for want in expected["conditions"]}
        yield from (f"not expected: {one}" for one in rest if one["type"] not in allowed)


def wrong_events(expected, told):
    for want in expected["events"]:
        count = told.count(want["reason"], want.get("subject", ""))
        if not want.get("min", 0) <= count <= want.get("max", count):
            yield f"{count} Events of {want}"
        if want.get("injected") and not any("injected" in finding["name"] for finding in told.standing):
            yield "not told as injected"
        if "lost" in want and str(want["lost"]) not in told.text:
            yield f"does not say that {want['lost']} were lost"


def mistakes(expected, told):
    yield from wrong_conditions(expected, told)
    yield from wrong_events(expected, told)
    if told.action not in {expected["action"], *expected.get("also_ok", [])}:
        yield f"action {told.action}, expected {expected['action']}"
    yield from (word for word in expected.get("must", []) if not MUST[word](told))
    yield from (f"must not: {word}" for word in expected.get("must_not", []) if MUST_NOT[word](told))


@pytest.mark.parametrize("case", CASES)
def test_case_is_told_as_expected(case, tmp_path):
    expected = json.loads((HERE / f"{case}.expect.json").read_text())
    context = tmp_path / "context.json"
    context.write_text(json.dumps(expected["context"]))
    told = Told(case, context)
    wrong = list(mistakes(expected, told))
    assert not wrong, "\n".join(wrong) + "\n" + told.text


@pytest.mark.parametrize("case", CASES)
def test_words_of_a_log_are_short_and_harmless(case, tmp_path):
    context = tmp_path / "context.json"
    context.write_text("{}")
    told = Told(case, context)
    for event in told.events:
        assert len(event["message"]) < 2048
        assert "\0" not in event["message"] and "\x1b" not in event["message"]
