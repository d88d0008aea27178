"""A config that node-problem-detector takes is taken, and one that it refuses is refused with its place, except where a row of
docs/npd-compatibility.md says why not.
"""
import json
import re
import subprocess
import time

import pytest

from comparison import rows_beginning_with
from control_plane import BIN, PARTS
from streams import check, condition, filelog, permanent, plugin, temporary

LOG = filelog("@FOLDER@/log", [temporary("Seen", "seen .*"), permanent("Bad", "Broken", "bad .*")], [condition("Broken")])
PLUGIN = plugin(check("Fails", "exit 1"), check("IsBad", "exit 1", "Bad"), conditions=["Bad"])
STATS = {"cpu": {"metricsConfigs": {"cpu/load_1m": {"displayName": "one"}, "cpu/load_5m": {"displayName": "five"}}}}
ZERO_ROW = "`concurrency` below 1"


def without(config, *keys):
    return {key: value for key, value in config.items() if key not in keys}


def with_rule(config, **changes):
    return config | {"rules": [config["rules"][0] | changes]}


def tuned(**changes):
    return PLUGIN | {"pluginConfig": PLUGIN["pluginConfig"] | changes}


def text(config, old="", new=""):
    """With a part of its JSON written otherwise."""
    written = json.dumps(config)
    assert old in written
    return written.replace(old, new, 1).encode("utf-8", "surrogateescape")


# Kind of monitor, what its file holds, and the row when only NPD takes it.
CONFIGS = {
    "log as it should be": ("system-log", LOG),
    "log without rules": ("system-log", without(LOG, "rules")),
    "log without conditions": ("system-log", without(LOG, "conditions")),
    "log without lookback": ("system-log", without(LOG, "lookback")),
    "log without source": ("system-log", without(LOG, "source")),
    "log with unknown keys": ("system-log", LOG | {"unknown": {"a": [1]}}),
    "log with keys in other case": ("system-log", text(LOG, '"bufferSize"', '"BUFFERSIZE"')),
    "log with a key twice": ("system-log", text(LOG, '"bufferSize": 4', '"bufferSize": 3, "bufferSize": 4')),
    "log with a lone surrogate": ("system-log", text(LOG, "seen .*", "seen \\ud800.*")),
    "log with bytes that are no text": ("system-log", text(LOG, "Broken is fine", "fine \udcff")),
    "log with null": ("system-log", text(LOG, '"bufferSize": 4', '"bufferSize": null')),
    "log with a fraction of lines": ("system-log", text(LOG, '"bufferSize": 4', '"bufferSize": 4.0')),
    "log with lines as text": ("system-log", text(LOG, '"bufferSize": 4', '"bufferSize": "4"')),
    "log with a trailing comma": ("system-log", text(LOG, '"bufferSize": 4', '"bufferSize": 4,,')),
    "log with a comment": ("system-log", b"// mine\n" + text(LOG)),
    "log with something behind": ("system-log", text(LOG) + b"{}"),
    "log with a byte order mark": ("system-log", b"\xef\xbb\xbf" + text(LOG)),
    "log that is a list": ("system-log", [LOG]),
    "log that is empty": ("system-log", b""),
    "log cut off": ("system-log", text(LOG)[:-5]),
    "log of an unknown plugin": ("system-log", LOG | {"plugin": "smoke-signals"}),
    "log with an unknown type of rule": ("system-log", with_rule(LOG, type="sometimes")),
    "log with a broken pattern": ("system-log", with_rule(LOG, pattern="(unclosed")),
    "log with a pattern of Perl": ("system-log", with_rule(LOG, pattern="a(?=b)")),
    "log with a broken lookback": ("system-log", LOG | {"lookback": "5 minutes"}),
    "log with a broken delay": ("system-log", LOG | {"delay": "soon"}),
    "log with lookback in a unit of days": ("system-log", LOG | {"lookback": "1d"}),
    "log with a fraction of lookback": ("system-log", LOG | {"lookback": "1.5h2m.5s"}),
    "log with a broken time stamp": ("system-log", LOG | {"pluginConfig": LOG["pluginConfig"] | {"timestamp": "("}}),
    "log of no file": ("system-log", LOG | {"logPath": ""}),
    "plugin as it should be": ("custom-plugin", PLUGIN),
    "plugin without settings": ("custom-plugin", without(PLUGIN, "pluginConfig")),
    "plugin without rules": ("custom-plugin", without(PLUGIN, "rules")),
    "plugin of another kind": ("custom-plugin", PLUGIN | {"plugin": "standard"}),
    "plugin with a condition that is not declared": ("custom-plugin", without(PLUGIN, "conditions")),
    "plugin with an unknown type of rule": ("custom-plugin", with_rule(PLUGIN, type="sometimes")),
    "plugin without its program": ("custom-plugin", with_rule(PLUGIN, path="/nowhere/check")),
    "plugin with a longer time than all": ("custom-plugin", with_rule(PLUGIN, timeout="1h")),
    "plugin with a broken time": ("custom-plugin", with_rule(PLUGIN, timeout="fast")),
    "plugin with a broken interval": ("custom-plugin", tuned(invoke_interval="often")),
    "plugin without an interval": ("custom-plugin", tuned(invoke_interval="0s")),
    "plugin with a negative interval": ("custom-plugin", tuned(invoke_interval="-1s")),
    "plugin without time": ("custom-plugin", tuned(timeout="0s"), ZERO_ROW),
    "plugin with negative output": ("custom-plugin", tuned(max_output_length=-1)),
    "plugin without concurrency": ("custom-plugin", tuned(concurrency=0), ZERO_ROW),
    "plugin with a lone surrogate": ("custom-plugin", text(PLUGIN, "Bad is fine", "fine \\udc00")),
    "plugin with bytes that are no text": ("custom-plugin", text(PLUGIN, "Bad is fine", "fine \udcff")),
    "plugin with concurrency as text": ("custom-plugin", tuned(concurrency="3")),
    "stats as they should be": ("system-stats", STATS),
    "stats of nothing": ("system-stats", {}),
    "stats of an unknown metric": ("system-stats", text(STATS, "cpu/load_1m", "cpu/load_2m")),
    "stats without a name": ("system-stats", text(STATS, '"displayName": "one"', "")),
    "stats with one name twice": ("system-stats", text(STATS, '"five"', '"one"'), "two metrics with one name"),
    "stats with a broken interval": ("system-stats", STATS | {"invokeInterval": "often"}),
    "stats with a negative interval": ("system-stats", STATS | {"invokeInterval": "-1s"}),
    "stats with lsblk slower than they": ("system-stats", STATS | {"invokeInterval": "1s"}),
}
SEVERAL = "a good file and one that cannot be used"
SEVERAL_ROW = "A config file that cannot be used ends the program"
PLACE = re.compile(r"\.json:(\d+:\d+:)? ")
LONG_ENOUGH = 3


@pytest.fixture(scope="module")
def verdicts(folder):
    """{config: {side: (whether it runs, what it printed)}}."""
    log = folder / "accepted-log"
    log.mkdir()
    (log / "log").touch()
    flags = {}
    for name, (kind, config, *_) in CONFIGS.items():
        path = log / f"{name.replace(' ', '-')}.json"
        path.write_bytes((config if isinstance(config, bytes) else text(config)).replace(b"@FOLDER@", str(log).encode()))
        flags[name] = [f"--config.{kind}-monitor={path}"]
    flags[SEVERAL] = [*flags["log as it should be"], *flags["plugin without its program"]]
    started = {}
    for name, configs in flags.items():
        for side, program in (("npd", PARTS / "nodeproblemdetector"), ("ours", BIN / "mainstay-agent")):
            output = (log / f"{name}.{side}").open("wb")
            started[name, side] = subprocess.Popen(
                [program, "--enable-k8s-exporter=false", f"--prometheus-port={25000 + len(started)}", *configs],
                stdout=output, stderr=output, stdin=subprocess.DEVNULL)
    until = time.monotonic() + LONG_ENOUGH + len(started) / 20
    while time.monotonic() < until:
        time.sleep(0.1)
    found = {}
    for (name, side), process in started.items():
        runs = process.poll() is None
        process.kill()
        process.wait()
        found.setdefault(name, {})[side] = runs, (log / f"{name}.{side}").read_text(errors="replace")
    return found


@pytest.mark.parametrize("name", CONFIGS)
def test_both_take_it_or_neither(verdicts, name):
    (npd, said), (ours, words) = verdicts[name]["npd"], verdicts[name]["ours"]
    row = CONFIGS[name][2:]
    assert (npd, ours) == ((True, False) if row else (npd, npd)), f"NPD: {said[-600:]}\nours: {words[-600:]}"
    assert all(len(rows_beginning_with(one)) == 1 for one in row)
    if not ours:
        assert PLACE.search(words), words


def test_one_bad_file_among_others_ends_only_npd(verdicts):
    (npd, said), (ours, words) = verdicts[SEVERAL]["npd"], verdicts[SEVERAL]["ours"]
    assert (npd, ours) == (False, True), f"NPD: {said[-600:]}\nours: {words[-600:]}"
    assert PLACE.search(words), words
    assert len(rows_beginning_with(SEVERAL_ROW)) == 1
