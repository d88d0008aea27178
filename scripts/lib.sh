# Shared by the scripts beside it: where we are, what we say, what must be installed.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"
jobs=$(nproc)
# Objects are the same wherever the checkout lies: a second clone builds from the first one's cache.
export CCACHE_BASEDIR=$root CCACHE_NOHASHDIR=1

say() { printf ' %-9s %s\n' "$1" "$2"; }
stop() { printf '%s: %s\n' "$(basename "$0")" "$1" >&2; exit "${2:-1}"; }
seconds() { printf '%dm%02ds' $(($1 / 60)) $(($1 % 60)); }

# What building and running needs; with `tests`, what the tests need beyond it. Names are those of Debian 12 and Ubuntu 24.04.
build_packages="g++ cmake ninja-build ccache pkg-config libcurl4-openssl-dev libboost-dev libboost-json-dev libre2-dev
  libyaml-cpp-dev libexpected-dev libspdlog-dev libfmt-dev libcli11-dev prometheus-cpp-dev libssl-dev libgtest-dev
  libgmock-dev libpugixml-dev libsystemd-dev ca-certificates"
test_packages="clang-16 libclang-rt-16-dev clang-format-14 clang-tidy-16 python3 python3-pytest python3-yaml openssl
  systemd-journal-remote"
# A real cluster on one machine (tests/kubernetes), beside what scripts/parts builds.
cluster_packages="etcd-server containerd runc buildah containernetworking-plugins dnsmasq-base busybox-static iproute2 binutils gcc
  libc6-dev util-linux"

# The python that has what our tests import: the first on PATH, or the distribution's own.
test_python() {
  local python
  for python in python3 /usr/bin/python3; do
    if "$python" -c 'import pytest, yaml' 2>/dev/null; then
      command -v "$python"
      return
    fi
  done
  stop "no python3 with pytest and yaml (Debian packages python3-pytest and python3-yaml)"
}
pytest() { "$(test_python)" -m pytest -q -p no:cacheprovider "$@"; }

# install_packages WORDS...: installs what is missing with apt; on another system prints the list and stops.
install_packages() {
  local wanted="$*" missing=() name
  if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
    say packages "this is not a Debian or Ubuntu system; please see that you have the equivalents of:"
    printf '   %s\n' $wanted
    return 0
  fi
  # Debian 12's default Boost is 1.74; the 1.81 beside it is the one we use there. (Asking apt would need its lists,
  # which a fresh machine does not have yet.)
  if grep -q '^VERSION_CODENAME=bookworm' /etc/os-release; then
    wanted=${wanted/libboost-dev/libboost1.81-dev}
    wanted=${wanted/libboost-json-dev/libboost-json1.81-dev}
  fi
  for name in $wanted; do
    dpkg-query -W -f '${Status}\n' "$name" 2>/dev/null | grep -q 'ok installed' || missing+=("$name")
  done
  if [ ${#missing[@]} -eq 0 ]; then
    say packages "ok (nothing to install)"
    return 0
  fi
  local as_root=()
  if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null || stop "these packages are missing and there is no sudo to install them: ${missing[*]}"
    as_root=(sudo)
  fi
  say packages "installing ${missing[*]}"
  "${as_root[@]}" apt-get update -qq
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
}

# ensure_kubectl: any kubectl will do; Debian's client when there is none.
ensure_kubectl() {
  command -v kubectl >/dev/null || install_packages kubernetes-client
}

# build PRESET TARGETS...: configures when needed and builds, saying how long it took.
build() {
  local preset=$1 started=$SECONDS log
  shift
  log="build/$preset.log"
  mkdir -p build
  [ ! -t 1 ] || printf ' %-9s %s ...\r' build "$preset"
  if ! { cmake --preset "$preset" && cmake --build --preset "$preset" -j "$jobs" ${*:+--target "$@"}; } >"$log" 2>&1; then
    grep -E 'error|FAILED|CMake Error' -A5 "$log" | head -60 >&2 || tail -60 "$log" >&2
    stop "the $preset build failed; the whole log is in $log"
  fi
  say build "ok  $preset, $(seconds $((SECONDS - started)))   "
}

# A Go compiler that is new enough. None is downloaded: a build must not depend on what it happens to fetch.
need_go() {
  command -v go >/dev/null || stop "Go 1.24 or newer is needed on PATH to build Kubernetes for the tests, and there is none"
  local version
  version=$(GOTOOLCHAIN=local go env GOVERSION)
  [ "$(printf '%s\n' "go1.24" "$version" | sort -V | head -1)" = go1.24 ] ||
    stop "Go 1.24 or newer is needed on PATH to build Kubernetes for the tests; this is $version"
}
