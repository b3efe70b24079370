# What the checks share: strictness, the folder they work in, and cargo.
# shellcheck shell=bash
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
PATH="$PATH:${HOME:-/root}/.cargo/bin"
export PATH

check=$(basename "$0")

ok() { echo "ok: $check: $*"; }

fail() {
    echo "FAILED: $check: $*" >&2
    exit 1
}

# A folder that is gone when the check ends.
scratch() {
    [[ ${scratch_folder:-} ]] || { scratch_folder=$(mktemp -d); trap 'rm -rf "$scratch_folder"' EXIT; }
}

# The project as git sees it, with what is not yet added and without what a build left, in a scratch folder; goes there.
go_to_copy() {
    scratch
    git ls-files -z --cached --others --exclude-standard |
        perl -0 -ne 'chomp; print "$_\0" if -e' |
        tar --null -T - -cf - | tar -xf - -C "$scratch_folder"
    cd "$scratch_folder"
}

# A part of the Rust tools that some machines leave out.
need_component() {  # SUBCOMMAND COMPONENT DEBIAN-PACKAGE
    cargo "$1" --version >/dev/null 2>&1 && return
    if command -v rustup >/dev/null; then
        rustup component add "$2"
    else
        apt-get update -qq
        apt-get install -y -qq --no-install-recommends "$3" </dev/null
    fi
}

# The Rust of tomorrow, for what the stable one cannot do yet.
need_nightly() {  # COMPONENT...
    command -v rustup >/dev/null || fail "this takes rustup"
    rustup toolchain list | grep -q ^nightly || rustup toolchain install nightly --profile minimal
    [[ $# -eq 0 ]] || rustup --quiet component add --toolchain nightly "$@"
}
