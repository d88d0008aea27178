"""Stock node-problem-detector and our agent say the same, except where a row of docs/npd-compatibility.md says why not."""
import json

import pytest

from comparison import DOCUMENT, KNOWN, differences, explained, rows_beginning_with
from streams import PAIRS, SHIPPED

# Rules that no line can match here, and why.
SILENT = {
    ("disk-log-message-filelog", "DiskBadBlock"): "its message is cut off before what its rule asks for",
}


@pytest.mark.parametrize("pair", [pair.name for pair in PAIRS])
def test_they_say_the_same(results, pair):
    left = [difference for difference, known in explained(pair, differences(results[pair])) if not known]
    if left:
        pytest.fail(f"no row of {DOCUMENT.name} tells of this:\n" + "\n".join(map(str, left)), pytrace=False)


def test_each_known_difference_has_its_row_and_shows(results):
    lost = {known.row for known in KNOWN if len(rows_beginning_with(known.row)) != 1}
    assert not lost, "these are not the beginning of one row"
    hidden = [f"{known.row}: {known.kind} {known.matches} of {known.pairs}" for known in KNOWN
              if not any(known.explains(pair.name, one) for pair in PAIRS for one in differences(results[pair.name]))]
    assert not hidden


def test_every_rule_for_logs_was_matched(results):
    """Else nothing would have been compared."""
    silent = set()
    for pair in PAIRS:
        for config in pair.configs if pair.stream in ("kmsg", "files", "journal") else []:
            path = SHIPPED / config
            rules = json.loads(path.read_text())["rules"] if path.exists() else []
            silent |= {(config.removesuffix(".json"), rule["reason"]) for rule in rules if "pattern" in rule
                       and not results[pair.name]["npd"].series[f'problem_counter{{reason="{rule["reason"]}"}}']}
    assert silent == SILENT.keys()
