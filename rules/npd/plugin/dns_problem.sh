#!/bin/sh
# Does the cluster's DNS answer? 0 yes, 1 no, 2 there is no getent to ask with.
name=kubernetes.default

if ! command -v getent >/dev/null; then
  echo "getent is not here"
  exit 2
fi
if getent hosts "$name" >/dev/null; then
  echo "DNS lookup to $name is working"
  exit 0
fi
echo "DNS lookup to $name is not working"
exit 1
