"""The control plane itself: what every other test here stands on."""


def test_it_serves_the_version_that_is_pinned(plane):
    assert plane.api.get("/version")["gitVersion"].startswith("v1.34.")


def test_kubectl_reaches_it(plane):
    assert "kube-system" in plane.kubectl("get", "namespaces")
