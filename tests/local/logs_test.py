"""The logs beside the kernel's, as the programs read them: the journal of a program, a text file."""
import json
import pathlib
import subprocess
import time

import pytest

from harness import LoneAgent, eventually, run, scratch

JOURNAL_MAKER = pathlib.Path("/lib/systemd/systemd-journal-remote")
STARTED = "Started kubelet.service - Kubernetes kubelet."
needs_journal = pytest.mark.skipif(not JOURNAL_MAKER.exists(), reason=f"{JOURNAL_MAKER} (package systemd-journal-remote) is missing")


@pytest.fixture
def folder():
    with scratch() as folder:
        yield folder


def write_journal(folder, *entries):
    """Appends to a journal in `folder`: (seconds ago, message) of systemd."""
    export = folder / "entries"
    export.write_text("".join(
        f"__REALTIME_TIMESTAMP={int((time.time() - ago) * 1e6)}\n__MONOTONIC_TIMESTAMP={i + 1}\n_BOOT_ID={'0123456789abcdef' * 2}\n"
        f"SYSLOG_IDENTIFIER=systemd\nMESSAGE={message}\n\n" for i, (ago, message) in enumerate(entries)))
    (folder / "journal").mkdir(exist_ok=True)
    subprocess.run([JOURNAL_MAKER, f"--output={folder}/journal/system.journal", export], check=True, capture_output=True)


def count(folder, *flags):
    return run("log-counter", "--journald-source=systemd", f"--log-path={folder}/journal", *flags, folder=folder)


@needs_journal
def test_log_counter_answers_as_a_plugin(folder):
    write_journal(folder, (4, STARTED), (3, "Stopping kubelet.service..."), (2, STARTED), (1, STARTED))
    flags = ["--lookback=20m", r"--pattern=Started kubelet.*", r"--revert-pattern=Stopping kubelet.*"]
    enough = count(folder, *flags, "--count=2")
    assert (enough.returncode, enough.stdout) == (1, "Found 2 matching logs, which meets the threshold of 2\n")
    fewer = count(folder, *flags, "--count=3")
    assert (fewer.returncode, fewer.stdout) == (0, "")


def test_log_counter_does_not_call_a_journal_that_it_cannot_read_quiet(folder):
    unknown = count(folder, "--pattern=a")
    assert unknown.returncode == 2
    assert unknown.stdout.startswith(f"the journal folder {folder}/journal does not exist")


def config(plugin, pattern, **more):
    return json.dumps({"plugin": plugin, "lookback": "10m", "source": plugin, "conditions": [],
                       "rules": [{"type": "temporary", "reason": f"Seen_{plugin}", "pattern": pattern}]} | more)


@pytest.fixture
def metrics(folder):
    """Starts an agent with these configs; what it says of a series."""
    agents = []

    def start(*configs):
        paths = []
        for i, text in enumerate(configs):
            paths.append(folder / f"{i}.json")
            paths[-1].write_text(text)
        agents.append(LoneAgent(folder, *(f"--config.system-log-monitor={path}" for path in paths)))
        return agents[-1].series

    yield start
    for agent in agents:
        assert agent.stop() == 0


@needs_journal
def test_the_agent_follows_the_journal(folder, metrics):
    write_journal(folder, (60, STARTED))
    series = metrics(config("journald", "Started kubelet.*", logPath=f"{folder}/journal", pluginConfig={"source": "systemd"}))
    seen = 'problem_counter{reason="Seen_journald"}'
    eventually(lambda: series(seen) == 1, "what was logged before the start", also=[OSError])
    write_journal(folder, (0, STARTED))
    eventually(lambda: series(seen) == 2, "what is logged now")


def test_the_agent_follows_a_text_log_from_before_it_exists_through_its_rotation(folder, metrics):
    log = folder / "messages"
    series = metrics(config("filelog", "BUG: .*", logPath=str(log), pluginConfig={
        "timestamp": "^.{15}", "message": "kernel: (.*)", "timestampFormat": "Jan _2 15:04:05"}))
    blind = 'problem_gauge{reason="FileUnreadable",type="MonitorDegraded"}'
    eventually(lambda: series(blind) == 1, "the agent to say that there is no such file", also=[OSError])

    def say(text):
        with log.open("a") as file:
            print(time.strftime("%b %e %H:%M:%S"), "host kernel:", text, file=file)

    say("BUG: one")
    eventually(lambda: series(blind) == 0, "it to be found")
    log.rename(folder / "messages.1")
    say("BUG: two")
    eventually(lambda: series('problem_counter{reason="Seen_filelog"}') == 2, "the lines of both files")
