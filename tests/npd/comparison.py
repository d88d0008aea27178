"""What two agents say differently, and which row of docs/npd-compatibility.md tells of it."""
import dataclasses
import re

from control_plane import ROOT

DOCUMENT = ROOT / "docs/npd-compatibility.md"
TABLE = []


@dataclasses.dataclass
class Known:
    """A difference that a row of the document, which holds `row`, tells of: in these pairs, of this kind (condition, event, series,
    metric), where the text matches.
    """
    row: str
    pairs: str
    kind: str
    matches: str
    shown: bool = False

    def explains(self, pair, difference):
        return (re.fullmatch(self.pairs, pair) and difference.kind == self.kind
                and re.search(self.matches, str(difference.key)) is not None)


@dataclasses.dataclass
class Difference:
    kind: str
    key: object
    npd: object
    ours: object

    def __str__(self):
        return f"{self.kind} {self.key}: NPD {self.npd}, ours {self.ours}"


KNOWN = [
    Known("A log that cannot be opened is one line", ".*", "condition", "^MonitorDegraded$"),
    Known("A log that cannot be opened is one line", ".*", "series", 'type="MonitorDegraded"'),
    Known("series `mainstay_agent_*` do not exist", ".*", "series", "^mainstay_agent_"),
]


def differences(npd, ours):
    found = []
    for kind in ("condition", "event", "series"):
        theirs, own = ((getattr(said, kind if kind == "series" else kind + "s")) for said in (npd, ours))
        found += [Difference(kind, key, theirs.get(key), own.get(key)) for key in sorted(theirs.keys() | own.keys(), key=str)
                  if theirs.get(key) != own.get(key)]
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
