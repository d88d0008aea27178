#!/bin/sh
# Is the connection tracking table nearly full? 0 no, 1 more than nine tenths are used, 2 there is no table.
# PROC: another /proc, for tests.
sys=${PROC:-/proc}/sys/net

for table in "$sys/netfilter/nf_conntrack" "$sys/ipv4/netfilter/ip_conntrack"; do
  if [ -f "${table}_count" ] && [ -f "${table}_max" ]; then
    count=$(cat "${table}_count") && max=$(cat "${table}_max") || exit 2
    if [ "$count" -gt $((max * 9 / 10)) ]; then
      echo "Conntrack table usage over 90%: $count out of $max"
      exit 1
    fi
    echo "Conntrack table usage: $count out of $max"
    exit 0
  fi
done
exit 2
