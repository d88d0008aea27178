#!/bin/sh
# Are there iptables rules of both kinds, legacy and nft, which do not see each other? 0 no, 1 yes, 2 there are none at
# all. Differs from node-problem-detector's script, which always exits 0.
rules() {
  { "iptables-$1-save"; "ip6tables-$1-save"; } 2>/dev/null | grep -c '^-'
}
legacy=$(rules legacy)
nft=$(rules nft)

if [ "$legacy" -gt 0 ] && [ "$nft" -gt 0 ]; then
  echo "rules of both kinds: $legacy iptables-legacy, $nft iptables-nft"
  exit 1
fi
if [ "$legacy" -eq 0 ] && [ "$nft" -eq 0 ]; then
  echo "no iptables rules"
  exit 2
fi
echo "rules of one kind: $legacy iptables-legacy, $nft iptables-nft"
exit 0
