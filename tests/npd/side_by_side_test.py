"""Stock node-problem-detector and our agent say the same, except where a row of docs/npd-compatibility.md says why not."""
import pytest

from comparison import differences, unexplained
from streams import PAIRS


@pytest.mark.parametrize("pair", [pair.name for pair in PAIRS])
def test_they_say_the_same(results, pair):
    said = results[pair]
    left = unexplained(pair, differences(said["npd"], said["ours"]))
    if left:
        pytest.fail("no row of docs/npd-compatibility.md tells of this:\n" + "\n".join(map(str, left)), pytrace=False)
