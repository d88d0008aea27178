import os
import pathlib
import shutil
import tempfile

import pytest

import control_plane


def pytest_configure(config):
    if not os.environ.get("MAINSTAY_SANDBOX"):
        raise pytest.UsageError("these tests start a whole cluster: run them with `scripts/test kubernetes`, "
                                "or `tests/kubernetes/sandbox python3 -m pytest tests/kubernetes`")


@pytest.fixture(scope="session")
def folder():
    """Everything the cluster writes; stays, with the logs in it, when KEEP is set."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="mainstay-kubernetes-"))
    yield folder
    if os.environ.get("KEEP"):
        print(f"\nkept: {folder}")
    else:
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def plane(folder):
    started = control_plane.ControlPlane(folder)
    for name in "abcdef":
        started.token(f"system:node:node-{name}", "system:nodes")
    yield started.start()
    started.stop()
