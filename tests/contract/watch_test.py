"""Watches: what is there already, what comes, resuming, bookmarks, and a place that is no longer known.

Left out: streamed lists (sendInitialEvents), which need a newer etcd than Debian 12's, and versions of the future.
"""
import pytest

from client import RECOVERIES, config_map, recovery, unique

TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"


@pytest.fixture
def maps(ns):
    return f"{ns}/configmaps"


def mine(**more):
    """Of all ConfigMaps of a namespace, those of the test."""
    return {"labelSelector": "of=test", **more}


def labelled(name, data=None):
    return config_map(name, data, labels={"of": "test"})


def version(api, path):
    return api.get(path).ok()["metadata"]["resourceVersion"]


def test_without_a_version_it_begins_with_what_is_there(api, maps):
    api.create(maps, labelled("a")).ok(201)
    with api.watch(maps, **mine()) as watch:
        assert watch.take(1) == [("ADDED", "a")]
        api.create(maps, labelled("b")).ok(201)
        assert watch.take(1) == [("ADDED", "b")]


def test_it_tells_every_change_in_order(api, maps):
    start = version(api, maps)
    api.create(maps, labelled("a", {"n": "1"})).ok(201)
    changed = api.patch(f"{maps}/a", {"data": {"n": "2"}}).ok()
    api.delete(f"{maps}/a").ok()
    with api.watch(maps, **mine(resourceVersion=start)) as watch:
        events = watch.next(3)
    assert [event["type"] for event in events] == ["ADDED", "MODIFIED", "DELETED"]
    assert [event["object"]["data"]["n"] for event in events] == ["1", "2", "2"]
    assert events[1]["object"]["metadata"]["resourceVersion"] == changed["metadata"]["resourceVersion"]
    # What is told of a deleted object is its last state, at the version of its end: a client resumes from there.
    assert int(events[2]["object"]["metadata"]["resourceVersion"]) > int(changed["metadata"]["resourceVersion"])


def test_it_resumes_after_the_version_that_was_seen_last(api, maps):
    api.create(maps, labelled("a")).ok(201)
    seen = api.create(maps, labelled("b")).ok(201)["metadata"]["resourceVersion"]
    api.create(maps, labelled("c")).ok(201)
    with api.watch(maps, **mine(resourceVersion=seen)) as watch:
        assert watch.take(1) == [("ADDED", "c")]


def test_a_change_that_changes_nothing_is_not_told(api, maps):
    start = api.create(maps, labelled("a", {"n": "1"})).ok(201)["metadata"]["resourceVersion"]
    assert api.patch(f"{maps}/a", {"data": {"n": "1"}}).ok()["metadata"]["resourceVersion"] == start
    api.create(maps, labelled("b")).ok(201)
    with api.watch(maps, **mine(resourceVersion=start)) as watch:
        assert watch.take(1) == [("ADDED", "b")]


def test_an_object_that_begins_or_ends_to_match_is_new_or_gone(api, maps):
    start = api.create(maps, config_map("a")).ok(201)["metadata"]["resourceVersion"]
    with api.watch(maps, **mine(resourceVersion=start)) as watch:
        api.patch(f"{maps}/a", {"metadata": {"labels": {"of": "test"}}}).ok()
        api.patch(f"{maps}/a", {"metadata": {"labels": {"of": "another"}}}).ok()
        assert watch.take(2) == [("ADDED", "a"), ("DELETED", "a")]


def test_one_object_is_watched_by_its_name(api, maps):
    with api.watch(maps, fieldSelector="metadata.name=b") as watch:
        api.create(maps, labelled("a")).ok(201)
        api.create(maps, labelled("b")).ok(201)
        assert watch.take(1) == [("ADDED", "b")]


def test_a_custom_kind_is_watched(api, our_kinds, cluster_wide):
    start, name = version(api, RECOVERIES), unique("contract")
    with api.watch(RECOVERIES, resourceVersion=start) as watch:
        cluster_wide(RECOVERIES, recovery(name))
        assert watch.until("ADDED", name)["spec"]["policy"] == "p"
        api.patch(f"{RECOVERIES}/{name}/status", {"status": {"phase": "Held"}}).ok()
        assert watch.until("MODIFIED", name)["status"]["phase"] == "Held"


def test_a_bookmark_comes_before_the_watch_ends(api, maps):
    created = api.create(maps, labelled("a")).ok(201)["metadata"]["resourceVersion"]
    with api.watch(maps, **mine(resourceVersion=created, allowWatchBookmarks="true", timeoutSeconds=4)) as watch:
        events = list(watch)
    assert {event["type"] for event in events} == {"BOOKMARK"}
    bookmark = events[-1]["object"]
    assert (bookmark["kind"], bookmark["apiVersion"]) == ("ConfigMap", "v1")
    assert int(bookmark["metadata"]["resourceVersion"]) >= int(created)


def test_without_bookmarks_a_quiet_watch_ends_when_it_was_told_to(api, maps):
    with api.watch(maps, **mine(resourceVersion=version(api, maps), timeoutSeconds=1)) as watch:
        assert list(watch) == []


def test_a_version_that_is_no_longer_known_is_gone(api, our_kinds, cluster_wide):
    """As an event of a stream that was opened, which is how kube-apiserver's cache says it."""
    cluster_wide(RECOVERIES, recovery(unique("contract")))
    api.forget_history()
    with api.watch(RECOVERIES, resourceVersion="1") as watch:
        [event] = watch
    assert event["type"] == "ERROR"
    status = event["object"]
    assert (status["kind"], status["code"], status["reason"]) == ("Status", 410, "Expired")
    assert "too old resource version" in status["message"]


def test_a_watch_speaks_in_tables_to_those_who_ask(api, maps):
    api.create(maps, labelled("a", {"x": "1"})).ok(201)
    with api.watch(maps, accept=TABLE, **mine()) as watch:
        first = next(watch)
        api.patch(f"{maps}/a", {"data": {"y": "1"}}).ok()
        second = next(watch)
    assert first["object"]["kind"] == "Table" and [c["name"] for c in first["object"]["columnDefinitions"]][:2] == [
        "Name", "Data"]
    assert (second["type"], second["object"]["rows"][0]["cells"][:2]) == ("MODIFIED", ["a", 2])
