#!/bin/sh
# Are there iptables rules of both kinds, legacy and nft, which do not see each other? 0 no, 1 yes, 2 no tool to ask with.
# Differs from node-problem-detector's script, which always exits 0.
if ! command -v iptables-legacy-save >/dev/null && ! command -v iptables-nft-save >/dev/null; then
  echo "iptables-legacy-save and iptables-nft-save are not here"
  exit 2
fi
rules() {
  { "iptables-$1-save"; "ip6tables-$1-save"; } 2>/dev/null | grep -c '^-'
}
legacy=$(rules legacy)
nft=$(rules nft)

echo "iptables rules: $legacy legacy, $nft nft"
[ "$legacy" -eq 0 ] || [ "$nft" -eq 0 ]
