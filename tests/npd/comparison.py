"""What two agents say differently, and which row of docs/npd-compatibility.md tells of it."""
import dataclasses
import re

from control_plane import ROOT

DOCUMENT = ROOT / "docs/npd-compatibility.md"
TABLE = []


@dataclasses.dataclass
class Known:
    """A difference that a row of the document, which holds `row`, tells of: in these pairs, of this kind (conditions, events, series,
    metrics, others), where the text matches.
    """
    row: str
    pairs: str
    kind: str
    matches: str
    shown: bool = False

    def explains(self, pair, difference):
        return (re.fullmatch(self.pairs, pair) and re.fullmatch(self.kind, difference.kind)
                and re.search(self.matches, str(difference.key)) is not None)


@dataclasses.dataclass
class Difference:
    kind: str
    key: object
    npd: object
    ours: object

    def __str__(self):
        return f"{self.kind} {brief(self.key)}: NPD {brief(self.npd)}, ours {brief(self.ours)}"


KNOWN = [
    Known("A log that cannot be opened is one line", ".*", "conditions", "^MonitorDegraded$"),
    Known("A log that cannot be opened is one line", ".*", "series",
          'type="MonitorDegraded"|^problem_counter.reason="(KernelLog|File|Journal|CheckHangs|SystemStats)(Unreadable|RecordsLost|)"'),
    Known("series `mainstay_agent_*` do not exist", ".*", "(series|metrics)", "^mainstay_agent_"),
]


def brief(value):
    """For people: nobody reads a line of 20,000 characters."""
    text = value if isinstance(value, str) else repr(value)
    return re.sub(r"(.)\1{30,}", lambda run: f"{run[1]}...({len(run[0])})", text)


# Values of the machine that are other ones a moment later.
RESTLESS = re.compile("cpu_load|cpu_runnable|system_procs_|disk_avg_queue|memory_dirty|disk_weighted_io|disk_io_time")


def same(key, npd, ours):
    if npd is None or ours is None or not isinstance(npd, float) or key.startswith("problem_"):
        return npd == ours
    return RESTLESS.match(key) or abs(npd - ours) <= 0.3 * max(npd, ours)


def differences(npd, ours):
    found = []
    for kind in ("conditions", "events", "series", "metrics", "others"):
        theirs, own = getattr(npd, kind), getattr(ours, kind)
        found += [Difference(kind, key, theirs.get(key), own.get(key)) for key in sorted(theirs.keys() | own.keys(), key=str)
                  if not same(key, theirs.get(key), own.get(key))]
    return found


def unexplained(pair, found):
    left = []
    for difference in found:
        known = [known for known in KNOWN if known.explains(pair, difference)]
        for one in known:
            one.shown = True
        if not known:
            left.append(difference)
    return left


def table():
    return "\n".join(TABLE)
