import os
import pathlib
import sys

import pytest

sys.path.append(str(pathlib.Path(__file__).parents[1] / "kubernetes"))

import comparison  # noqa: E402
import control_plane  # noqa: E402
import ground  # noqa: E402
import streams  # noqa: E402


def pytest_configure(config):
    if not os.environ.get("MAINSTAY_SANDBOX"):
        raise pytest.UsageError("these tests bind a stand-in over /dev/kmsg: run them with `scripts/test npd`, "
                                "or `tests/kubernetes/sandbox python3 -m pytest tests/npd`")


@pytest.fixture(scope="session")
def folder():
    with control_plane.session_folder("mainstay-npd-") as folder:
        yield folder


@pytest.fixture(scope="session")
def results(folder):
    """What both agents said of every stream, by the pair's name."""
    plane = control_plane.ControlPlane(folder).start()
    results = ground.play(plane)
    _shown.append(comparison.table(streams.PAIRS, streams.lines_of, results))
    yield results
    plane.stop()


_shown = []


def pytest_terminal_summary(terminalreporter):
    for text in _shown:
        terminalreporter.write_line("\n" + text)
