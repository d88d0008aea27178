#!/usr/bin/env python3
"""Adds up the closing lines of test runners in a log: prints "PASSED FAILED"."""
import re
import sys

text = open(sys.argv[1], encoding="utf-8", errors="replace").read()
passed = failed = 0
for lost, total in re.findall(r"tests passed, (\d+) tests failed out of (\d+)", text):  # ctest
    passed, failed = passed + int(total) - int(lost), failed + int(lost)
for line in re.findall(r"^=* ?((?:\d+ [a-z]+(?:, )?)+) in [\d.]+s.*$", text, re.M):  # pytest
    counts = dict((word, int(number)) for number, word in re.findall(r"(\d+) ([a-z]+)", line))
    passed += counts.get("passed", 0)
    failed += counts.get("failed", 0) + counts.get("errors", 0) + counts.get("error", 0)
for good, bad in re.findall(r"^(\d+) passed, (\d+) failed$", text, re.M):  # ours
    passed, failed = passed + int(good), failed + int(bad)
print(passed, failed)
