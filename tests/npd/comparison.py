"""What two agents say differently, and which row of docs/npd-compatibility.md tells of it."""
import dataclasses
import re

from control_plane import ROOT

DOCUMENT = ROOT / "docs/npd-compatibility.md"
ANY = ".*"
WHATEVER = object()


@dataclasses.dataclass
class Difference:
    kind: str  # conditions, events, series, metrics, others: of ground.Said
    key: object
    npd: object  # None: it says nothing
    ours: object

    def __str__(self):
        return f"{self.kind} {brief(self.key)}: NPD {brief(self.npd)}, ours {brief(self.ours)}"


@dataclasses.dataclass
class Known:
    """A difference that the document's row which begins with `row` tells of: in these pairs, of this kind, where the key
    matches, and with these values.
    """
    row: str
    pairs: str
    kind: str
    matches: str
    npd: object = WHATEVER
    ours: object = WHATEVER

    def explains(self, pair, difference):
        return (re.fullmatch(self.pairs, pair) and re.fullmatch(self.kind, difference.kind)
                and re.search(self.matches, difference.key if isinstance(difference.key, str) else repr(difference.key))
                and self.npd in (WHATEVER, difference.npd) and self.ours in (WHATEVER, difference.ours))


BLIND = "A log that cannot be opened"
DEVICES = "A driver's message never matches"
RESTART = "A restart sets every condition to False"
REMOVED = "A condition whose rule was removed"
MANGLED = "`%` in an Event's message"
CUT = "An Event's message is as long as its line"
TOO_LONG = "A line may be as long as it likes"
TWO_RULES = "two rules of one condition"
LEFTOVER = "a descendant that left the group"
SKIP = "`skip_initial_status`"
NO_TOOL = "`health-checker`: `crictl` or `docker` cannot be started"
NO_JOURNAL = "`log-counter` counts nothing"
SUMS = "`system_processes_total`, `system_interrupts_total`"
DEFAULT_GAUGE = "gauge of a condition's default reason"
SPLIT = "the cut at `max_output_length`"


def fine(kind):
    """A condition of streams.condition(kind) without a problem."""
    return "False", f"{kind}IsFine", f"{kind} is fine"


# What is said of every pair.
GENERAL = [
    Known(BLIND, ANY, "conditions", "^MonitorDegraded$", None),
    Known(BLIND, ANY, "others", "^GET /conditions: MonitorDegraded$", None),
    Known(BLIND, ANY, "series", 'type="MonitorDegraded"', None),
    Known(BLIND, ANY, "series", "^problem_counter.*(KernelLog|File|Journal)(Unreadable|RecordsLost)", None),
    Known(BLIND, ANY, "series", "^problem_counter.*(CheckStuck|SystemStatsUnreadable)", None),
    Known(BLIND, ANY, "metrics", "^problem_(gauge|counter)$", None),  # where nothing else has one
    Known("series `mainstay_agent_*` do not exist", ANY, "(series|metrics)", "^mainstay_agent_", None),
    Known("Each line of a file that does not parse", ANY, "(series|metrics)", "^mainstay_agent_lines_unparsed_total", None),
    Known("`/debug/pprof/`", ANY, "others", "^GET /debug/pprof/$", 200, 404),
    Known("no readiness", ANY, "others", "^GET /readyz$", 404),
    Known("`involvedObject` lacks", ANY, "others", "^involvedObject$", WHATEVER, ("Node", "v1", True)),
    Known("Event times are those of sending", ANY, "others", "^an Event older than the agent$", None, True),
]
PARTICULAR = [
    Known(DEVICES, "kmsg with devices", "conditions|others", "KernelDeadlock$"),
    Known(DEVICES, "kmsg with devices", "events", "DockerHung.*docker:1", None, (1, 1)),
    Known(DEVICES, "kmsg with devices", "events", "DockerHung.*docker:2", (1, 1), None),
    Known(DEVICES, "kmsg with devices", "events", "TaskHung.*docker:1|Ext4Error", None, (1, 1)),
    Known(DEVICES, "kmsg with devices", "series", "TaskHung", 1, 2),
    Known(DEVICES, "kmsg with devices", "series", "Ext4Error", 0, 1),
    Known("Events of a temporary rule", "kmsg flood", "events", "XfsHasShutdown", None, (1, 1)),
    Known(MANGLED, "kmsg percent|plugins: percent", "events", r"%!.\(MISSING\)", (1, 1), None),
    Known(MANGLED, "kmsg percent|plugins: percent", "events", "100% full", None, (1, 1)),
    Known("A kernel record that is none", "kmsg torn", "events", "KernelLogRecordsLost", None),
    Known(CUT, ANY, "events", r"(.)\1{16300}", None, (1, 1)),
    Known(CUT, ANY, "events", r"(.)\1{19990}", (1, 1), None),
    Known(TOO_LONG, "long line", "events", "FileRecordsLost", None, (1, 1)),
    Known(TOO_LONG, "long line", "events", r"'Long'.*long z{70000}'", (1, 1), None),
    Known(TOO_LONG, "long line", "series", '"Long"', 3, 2),
    Known("A truncated file", "truncation", "events", "T after", None, (1, 1)),
    Known("A truncated file", "truncation", "series", "Truncated", 1, 2),
    Known("Lines that come to a rotated file", "rotation", "events", "R of the old file", None, (1, 1)),
    Known("Lines that come to a rotated file", "rotation", "series", "Rotated", 2, 3),
    Known("A time without a year", "a line of December", "events", "last year", (1, 1), None),
    Known("A time without a year", "a line of December", "series", "Old", 1, 0),
    Known("A time without a year", "a line of December", "others", "^involvedObject$", WHATEVER, None),
    Known(BLIND, "no file", "conditions|others", "Elsewhere$", None),
    Known(BLIND, "no file", "events", "FileUnreadable", None, (1, 1)),
    Known("A journal folder that exists", "no journal", "events", "JournalUnreadable.*empty-journal", None, (1, 1)),
    Known(RESTART, "restart", "conditions", "^Broken$", fine("Broken"), ("True", "Seen", "broken 1")),
    Known(RESTART, "restart", "others", "GET /conditions: Broken"),
    Known(RESTART, "restart", "series", "Seen", 0, 1),
    Known(REMOVED, "restart without a rule", "events", "Broken is now: False", None, (1, 1)),
    Known("what a check left running", "plugins: orphan", "others", "^left running$", True, None),
    Known("`disk/percent_used` only together", "stats: percent used", "(series|metrics)", "^disk_percent_used", None),
    Known(SPLIT, "plugins: cut-character", "events", "'0{79}\N{REPLACEMENT CHARACTER}'", (1, 1), None),
    Known(SPLIT, "plugins: cut-character", "events", "'0{79}'", None, (1, 1)),
    Known(TWO_RULES, "plugins: two-rules", "conditions", "^Shared$", fine("Shared"), ("True", "OneFinds", "found")),
    Known(TWO_RULES, "plugins: two-rules", "others", "GET /conditions: Shared"),
    Known(TWO_RULES, "plugins: two-rules", "events", "SharedIsFine", (1, 1), None),
    Known(TWO_RULES, "plugins: two-rules", "series", "OneFinds", 0, 1),
    Known("the gauge of two problems", "plugins: two-rules", "series", "FirstOfTwo", 0, 1),
    Known("gauge of a condition that no rule", "plugins: two-rules", "series", "WithoutRule", 0, None),
    Known(DEFAULT_GAUGE, "plugins: .*", "series", "^problem_gauge.reason=.*(Is|No)", None, 0),
    Known(DEFAULT_GAUGE, "plugins: skip-initial", "series", "^problem_gauge.reason=.*SlowOneIsFine", 0, None),
    Known(LEFTOVER, "plugins: leftover", "conditions", "^Leaving$", fine("Leaving"), ("True", "Leaves", "left")),
    Known(LEFTOVER, "plugins: leftover", "others", "GET /conditions: Leaving"),
    Known(LEFTOVER, "plugins: leftover", "events", "'Leaves'", None, (1, 1)),
    Known(LEFTOVER, "plugins: leftover", "series", '"Leaves"', 0, 1),
    Known(SKIP, "plugins: skip-initial", "conditions|others", "SlowOne$", WHATEVER, None),
    Known(NO_TOOL, "plugins: no-crictl", "conditions|others", "Runtime$"),
    Known(NO_TOOL, "plugins: no-crictl", "events", "Runtime is now: Unknown", None, (1, 1)),
    Known(NO_TOOL, "plugins: no-crictl", "events", "Runtime is now: True", (1, 1), None),
    Known(NO_TOOL, "plugins: no-crictl", "series", "RuntimeIsDown", 1, 0),
    Known(NO_JOURNAL, "plugins: counter-without-journal", "conditions|others", "Counted$"),
    Known(NO_JOURNAL, "plugins: counter-without-journal", "events", "Counted is now: Unknown", None, (1, 1)),
    Known("`cpu_usage_time` says seconds", "stats: .*system-stats-monitor|stats each second", "series", "^cpu_usage_time"),
    Known(SUMS, "stats each second", "series", "^system_(processes_total|interrupts_total|cpu_stat)"),
    Known(SUMS, "net each second", "series", "^net_"),
]
KNOWN = GENERAL + PARTICULAR


def rows_beginning_with(text):
    return [line for line in DOCUMENT.read_text().splitlines() if line.startswith(f"| {text}")]


def brief(value):
    """For people: nobody reads a line of 20,000 characters."""
    text = value if isinstance(value, str) else repr(value)
    return re.sub(r"(.)\1{30,}", lambda run: f"{run[1]}...({len(run[0])})", text)


# Values of the machine that are other ones a moment later; the others differ by what passes between two scrapes.
RESTLESS = re.compile("cpu_load|cpu_runnable|system_procs_|disk_avg_queue|disk_weighted_io|disk_io_time|memory_dirty")
NEAR = 0.3


def same(key, npd, ours):
    if npd is None or ours is None or not isinstance(npd, float) or key.startswith("problem_"):
        return npd == ours
    return RESTLESS.match(key) or abs(npd - ours) <= NEAR * max(npd, ours)


def differences(said):
    """Between what NPD and ours said of a pair."""
    found = []
    for kind in ("conditions", "events", "series", "metrics", "others"):
        npd, ours = (getattr(said[side], kind) for side in ("npd", "ours"))
        found += [Difference(kind, key, npd.get(key), ours.get(key)) for key in sorted(npd.keys() | ours.keys(), key=str)
                  if not same(key, npd.get(key), ours.get(key))]
    return found


def explained(pair, found):
    """Each difference with what is known of it."""
    return [(difference, [known for known in KNOWN if known.explains(pair, difference)]) for difference in found]


def table(pairs, lines_of, results):
    """What a person pastes: how much each said, and whether it is the same."""
    rows = [("configs", "lines", "conditions", "Events", "series", "NPD / ours")]
    for pair in pairs:
        said = results[pair.name]
        found = explained(pair.name, differences(said))
        general = {(one.kind, one.key) for one, known in found if any(k in GENERAL for k in known)}
        rest = [(one, known) for one, known in found if (one.kind, one.key) not in general]
        counts = [" / ".join(str(len({(kind, key) for key in getattr(said[side], kind)} - general)) for side in ("npd", "ours"))
                  for kind in ("conditions", "events", "series")]
        reasons = sorted({known.row if known else "UNKNOWN" for _, all_known in rest for known in all_known[:1] or [None]})
        rows.append((pair.name, str(lines_of(pair)), *counts, "; ".join(reasons) or "equal"))
    widths = [max(len(row[column]) for row in rows) for column in range(5)]
    return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(row, widths)) + "  " + row[5] for row in rows)
