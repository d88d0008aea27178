import os
import pathlib
import shutil
import sys
import tempfile

import pytest

sys.path.append(str(pathlib.Path(__file__).parents[1] / "kubernetes"))

import comparison  # noqa: E402
import control_plane  # noqa: E402
import ground  # noqa: E402


def pytest_configure(config):
    if not os.environ.get("MAINSTAY_SANDBOX"):
        raise pytest.UsageError("these tests bind a stand-in over /dev/kmsg: run them with `scripts/test npd`, "
                                "or `tests/kubernetes/sandbox python3 -m pytest tests/npd`")


@pytest.fixture(scope="session")
def folder():
    """Everything that is written; stays, with the logs in it, when KEEP is set."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="mainstay-npd-"))
    yield folder
    if os.environ.get("KEEP"):
        print(f"\nkept: {folder}")
    else:
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def results(folder):
    """What both agents said of every stream, by the pair's name."""
    plane = control_plane.ControlPlane(folder).start()
    yield ground.play(plane)
    plane.stop()


def pytest_terminal_summary(terminalreporter):
    if comparison.TABLE:
        terminalreporter.write_line("\n" + comparison.table())
