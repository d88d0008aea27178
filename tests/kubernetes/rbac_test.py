"""Least privilege, judged by the audit log of everything that ran before: no program of ours was refused anything, and none
was granted anything that it never used.
"""
from collections import defaultdict

from room import NAMESPACE

ACCOUNT = f"system:serviceaccount:{NAMESPACE}:"


def requests(plane):
    """Every answered request of our programs, by account."""
    found = defaultdict(list)
    for event in plane.audit():
        user = event["user"]["username"]
        if user.startswith(ACCOUNT) and "objectRef" in event:
            found[user.removeprefix(ACCOUNT)].append(event)
    return found


def grants(plane):
    """(account, namespace or "", group, resource, verb) for everything that Helm ever granted to an account of ours."""
    roles, bindings = {}, []
    for event in plane.audit():
        at = event.get("objectRef", {})
        if at.get("apiGroup") == "rbac.authorization.k8s.io" and event["verb"] == "create" and "requestObject" in event:
            body = event["requestObject"]
            if at["resource"].endswith("bindings"):
                bindings.append((at.get("namespace", ""), body))
            else:
                roles[body["kind"], at.get("namespace", ""), body["metadata"]["name"]] = body.get("rules", [])
    found = set()
    for ns, binding in bindings:
        ref = binding["roleRef"]
        rules = roles.get((ref["kind"], ns if ref["kind"] == "Role" else "", ref["name"]), [])
        for subject in binding.get("subjects", []):
            if subject["kind"] == "ServiceAccount" and subject.get("namespace") == NAMESPACE:
                found |= {(subject["name"], ns, group, resource, verb) for rule in rules
                          for group in rule.get("apiGroups", []) for resource in rule.get("resources", [])
                          for verb in rule["verbs"]}
    return found


def used(grant, events):
    _, ns, group, resource, verb = grant
    return any(
        event["verb"] == verb and at.get("apiGroup", "") == group
        and resource == "/".join(filter(None, [at["resource"], at.get("subresource")]))
        and (not ns or at.get("namespace") == ns)
        for event in events for at in [event["objectRef"]])


def test_nothing_was_refused(plane, mainstay):
    refused = {(account, e["verb"], e["requestURI"].split("?")[0]) for account, events in requests(plane).items()
               for e in events if e["responseStatus"]["code"] == 403}
    assert refused == set()


def test_nothing_was_granted_that_is_never_used(plane, mainstay):
    asked, granted = requests(plane), grants(plane)
    assert granted
    assert sorted(grant for grant in granted if not used(grant, asked[grant[0]])) == []
