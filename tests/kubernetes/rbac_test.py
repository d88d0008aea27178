"""Least privilege, judged by the audit log of everything that ran before: no program of ours was refused anything, and none
was granted anything that it never used, but for cases that do not come up here and are named below.
"""
from collections import defaultdict

from room import NAMESPACE

# (account, resource, verb): when it is needed, and where that is proved.
RARE = {
    ("agent", "events", "patch"): "an event comes again (src/kube/events_test)",
    ("controller", "events", "patch"): "an event comes again (src/kube/events_test)",
    ("controller", "pytorchjobs", "get"): "another writer was faster (src/jobs/controller_test)",
    ("controller", "pytorchjobs/status", "patch"): "a job's retries are used up (scenario job-at-its-limit)",
    ("controller", "noderecoveries", "delete"): "an incident was kept for a day (src/recovery tests)",
    ("controller", "noderecoveries", "get"): "another writer was faster (src/recovery tests)",
    ("controller", "recoverypolicies", "get"): "two leaders take a slot at once (src/recovery tests)",
    ("controller", "poddisruptionbudgets", "list"): "a budget holds a drain past its deadline (src/recovery tests)",
    ("release", "events", "create"): "there is an open incident of Enforce (install_test, which ends its own release)",
    ("release", "noderecoveries", "get"): "another writer was faster",
    ("release", "recoverypolicies", "get"): "another writer was faster",
    ("release", "recoverypolicies/status", "patch"): "an open incident holds a slot (install_test)",
}

ACCOUNT = f"system:serviceaccount:{NAMESPACE}:"


def requests(plane):
    """Every answered request of our programs, by account."""
    found = defaultdict(list)
    for event in plane.audit():
        user = event["user"].get("username", "")
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


def uninstalled(plane):
    """When Helm began to take the roles away: programs that are ending are refused then."""
    return min(e["requestReceivedTimestamp"] for e in plane.audit() if e["verb"] == "delete"
               and e.get("objectRef", {}).get("apiGroup") == "rbac.authorization.k8s.io"
               and e["objectRef"]["name"] in ("mainstay-agent", "mainstay-controller", "mainstay-controller-lease"))


def test_nothing_was_refused(plane, mainstay):
    end = uninstalled(plane)
    refused = {(account, e["verb"], e["requestURI"].split("?")[0]) for account, events in requests(plane).items()
               for e in events if e["responseStatus"]["code"] == 403 and e["requestReceivedTimestamp"] < end}
    assert refused == set()


def test_nothing_was_granted_that_is_never_used(plane, mainstay):
    asked, granted = requests(plane), grants(plane)
    assert granted
    unused = {(account.removeprefix("mainstay-"), resource, verb) for account, ns, group, resource, verb in granted
              if not used((account, ns, group, resource, verb), asked[account])}
    assert unused - RARE.keys() == set()


def test_every_rare_case_is_granted(plane, mainstay):
    granted = {(account.removeprefix("mainstay-"), resource, verb) for account, _, _, resource, verb in grants(plane)}
    assert RARE.keys() - granted == set()
