import os
import pathlib
import sys

import pytest

import packages

sys.path.insert(0, packages.folder())
sys.path += [str(pathlib.Path(__file__).parents[1] / ground) for ground in ("local", "kubernetes")]
# boto3 shall find nobody's real account, whatever the caller's environment says.
for name in [name for name in os.environ if name.startswith("AWS_")]:
    del os.environ[name]

import harness  # noqa: E402
import stage  # noqa: E402


@pytest.fixture(scope="session")
def _aws():
    aws = stage.Aws()
    yield aws
    aws.close()


@pytest.fixture
def aws(_aws):
    _aws.reset()
    return _aws


@pytest.fixture
def folder():
    with harness.scratch() as folder:
        yield folder


@pytest.fixture
def programs():
    """Whatever is put in is stopped when the test ends."""
    started = []
    yield started
    for program in started:
        program.stop(9)


def pytest_collection_modifyitems(items):
    """What the policies are compared with is all that the other tests have called."""
    items.sort(key=lambda item: item.path.name == "policies_test.py")
