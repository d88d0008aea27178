#!/usr/bin/env python3
"""Lists the translation units of a build folder that clang-tidy shall read: ours, without tests.

tidy_units.py BUILD [--changed]: with --changed only those that hold a file which differs from the last commit.
"""
import json
import pathlib
import re
import subprocess
import sys

build = pathlib.Path(sys.argv[1])
changed = None
if "--changed" in sys.argv[2:]:
    names = subprocess.run(["git", "diff", "--name-only", "HEAD"], capture_output=True, text=True, check=True).stdout
    changed = {str(pathlib.Path(name).resolve()) for name in names.split()}

for entry in json.loads((build / "compile_commands.json").read_text()):
    unit = pathlib.Path(entry["file"])
    if unit.name.endswith("_test.cc") or re.search(r"(_test|fuzz[^/]*)\.dir/", str(unit)) or "/tests/" in str(unit):
        continue
    parts = re.findall(r'#include "([^"]+)"', unit.read_text()) if unit.suffix == ".cxx" else [str(unit)]
    if all(str(build.resolve()) in part for part in parts):  # generated
        continue
    if any(part.endswith("_test.cc") for part in parts) or any("googletest" in part for part in parts):
        continue
    if changed is None or changed.intersection(parts):
        print(unit)
