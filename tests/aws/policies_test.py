"""Every program may do exactly what it does: the IAM policies of deploy/aws against all calls of this folder's tests, which
conftest.py lets run before. Run the whole folder: what was not seen called counts as granted in vain.
"""
import json

import pytest

from harness import ROOT
from stage import actions_of

PROGRAMS = {"recovery": "recovery-policy.json"}


@pytest.mark.parametrize("user", PROGRAMS)
def test_nothing_was_refused_and_nothing_is_granted_in_vain(_aws, user):
    policy = json.loads((ROOT / "deploy/aws" / PROGRAMS[user]).read_text())
    calls = [call for call in _aws.all_calls if call.user == user]
    assert not [call for call in calls if call.status == 403]
    assert {call.action for call in calls} == actions_of(policy)


@pytest.mark.parametrize("user", PROGRAMS)
def test_writes_are_granted_for_named_resources_only(user):
    """Describe calls know no resources; what changes something is bound to groups, or to a namespace."""
    policy = json.loads((ROOT / "deploy/aws" / PROGRAMS[user]).read_text())
    for statement in policy["Statement"]:
        reads = all(":Describe" in action for action in statement["Action"])
        assert reads or statement["Resource"] != "*" or statement.get("Condition"), statement["Sid"]
