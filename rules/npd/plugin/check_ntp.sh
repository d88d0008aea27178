#!/bin/sh
# Is the time service active? 0 yes, 1 no (stopped, failed or not installed), 2 there is no systemd to ask.
service=ntp.service

if ! command -v systemctl >/dev/null; then
  echo "systemctl is not here: systemd is needed"
  exit 2
fi
if systemctl -q is-active "$service"; then
  echo "$service is running"
  exit 0
fi
echo "$service is not running"
exit 1
