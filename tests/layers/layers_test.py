"""The folders of src/ depend in one direction only; an include that points the wrong way fails here.

base <- fault <- api <- {kube, cloud} <- {agent, recovery, jobs, sidecar, local/api} <- local/cluster <-
local/scenario <- cli <- apps, and siblings do not include each other. Libraries stay behind the file that owns them.
"""
import pathlib
import re
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
LAYERS = [
    {"base"},
    {"fault"},
    {"api"},
    {"kube", "cloud"},
    {"agent", "recovery", "jobs", "sidecar", "local/api"},
    {"local/cluster"},
    {"local/scenario"},
    {"cli"},
]
FREE = {"local/assets.h"}  # a table of texts; depends on nothing
CONFINED = {
    r"boost/(beast|asio)": {"src/base/http_server.cc"},
    r"spdlog/": {"src/base/log.cc"},
    r"CLI/": {"src/base/flags.cc"},
    r"prometheus/": {"src/base/metrics.cc"},
    r"yaml-cpp/": {"src/base/yaml.cc"},
    r"pugixml": {"src/cloud/aws/xml.cc"},
    r"curl/": {"src/base/http_client.cc"},
    r"openssl/": {"src/base/http_tls.cc", "src/cloud/aws/testing_signature.cc", "examples/trainer/"},
    r"re2/": {"src/fault/"},
    r"systemd/": {"src/agent/sources/journal.cc"},
    r"dlfcn": {"src/agent/nvml/library.cc"},
}
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.M)


def sources():
    for folder in ("src", "apps"):
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix in (".h", ".cc"):
                yield path.relative_to(ROOT)


LEVEL = {folder: level for level, layer in enumerate(LAYERS) for folder in layer}


def folder_of(path):
    """The layer's folder that a file of src/ stands in: "agent" for agent/sources/x.h; its own folder if in none."""
    folders = [str(p) for p in pathlib.PurePath(path).parents]
    return next((f for f in folders if f in LEVEL), folders[0])


def wrong_includes(path, text):
    """Why each include of `text`, standing in `path`, is not allowed; none when all are."""
    own = folder_of(pathlib.PurePath(path).relative_to("src")) if str(path).startswith("src/") else None
    for bracket, target in INCLUDE.findall(text):
        folder = folder_of(target)
        if bracket == '"' and own and folder != own and target not in FREE:
            if folder not in LEVEL:
                yield f"{path}: \"{target}\" is not a folder of src/"
            elif LEVEL[folder] >= LEVEL[own]:
                yield f"{path}: {own} may not include {folder} (\"{target}\")"
        for pattern, owners in CONFINED.items():
            if bracket == "<" and re.match(pattern, target) and not any(str(path).startswith(o) for o in owners):
                yield f"{path}: <{target}> belongs behind {', '.join(sorted(owners))}"


def test_includes_point_one_way():
    wrong = [why for path in sources() for why in wrong_includes(path, (ROOT / path).read_text())]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize(
    "path, line",
    [
        ("src/base/x.cc", '#include "kube/api.h"'),
        ("src/kube/x.cc", '#include "cloud/provider.h"'),
        ("src/jobs/x.h", '#include "recovery/planner.h"'),
        ("src/local/api/x.cc", '#include "local/cluster/cluster.h"'),
        ("src/kube/x.cc", "#include <curl/curl.h>"),
    ],
)
def test_the_check_sees_a_wrong_include(path, line):
    assert list(wrong_includes(path, line))


def test_every_test_file_is_built():
    listed = "".join(p.read_text() for p in ROOT.glob("**/CMakeLists.txt") if "build" not in p.parts)
    missing = [str(p) for p in sources() if p.name.endswith("_test.cc") and not re.search(rf"\b{p.name}\b", listed)]
    assert not missing, "not listed in a CMakeLists.txt: " + ", ".join(missing)


if __name__ == "__main__":
    sys.exit(subprocess.call([sys.executable, "-m", "pytest", "-q", __file__]))
