#!/bin/sh
# Installs oomdoc: downloads the archive for this machine, verifies its SHA-256, and puts the command, its manual and its completions
# into ~/.local. Until everything is verified and has run once, nothing outside a temporary folder is touched.
#
#     curl -fsSL https://github.com/oomdoc/oomdoc/releases/latest/download/install.sh | sh
#
#     PREFIX=/usr/local      install there
#     OOMDOC_VERSION=0.1.0   that version [default: the newest]
#     OOMDOC_SHA256=…        the digest that the archive must have, so that a changed release cannot change what you install
#     OOMDOC_MIRROR=…        an address or a folder that holds SHA256SUMS and the archives, in place of the releases
#     OOMDOC_TARGET=…        the target, if this machine's is not recognised: x86_64-unknown-linux-musl …
set -eu

repository=https://github.com/oomdoc/oomdoc

say() { printf 'oomdoc: %s\n' "$*"; }
fail() {
    printf 'oomdoc: %s\n' "$*" >&2
    printf 'oomdoc: nothing was installed\n' >&2
    exit 1
}
has() { command -v "$1" >/dev/null 2>&1; }

# The target of this machine, as in archives' names.
target() {
    system=$(uname -s) machine=$(uname -m)
    case $machine in
        x86_64 | amd64) machine=x86_64 ;;
        aarch64 | arm64) machine=aarch64 ;;
        *) fail "there is no archive for $system on $machine; \`cargo install --git $repository\` builds it" ;;
    esac
    case $system in
        Linux) echo "$machine-unknown-linux-musl" ;;
        Darwin)
            # In a shell under Rosetta, uname reports x86_64 on an arm64 machine.
            [ "$(sysctl -n hw.optional.arm64 2>/dev/null || echo 0)" != 1 ] || machine=aarch64
            echo "$machine-apple-darwin"
            ;;
        *) fail "there is no archive for $system on $machine here; \`pip install oomdoc\` brings the command, on Windows too" ;;
    esac
}

# download ADDRESS FILE
download() {
    case $1 in
        https://* | http://*)
            # An https URL must not redirect to plain http.
            secure=${1%%:*}
            if has curl; then
                curl --fail --silent --show-error --location --proto "=$secure,https" --retry 3 --output "$2" "$1"
            elif has wget; then
                wget --quiet --output-document="$2" "$1"
            else
                fail "there is neither curl nor wget to download with"
            fi
            ;;
        *) cp "$1" "$2" ;;
    esac || fail "could not get $1"
}

digest() {
    if has sha256sum; then
        sha256sum <"$1"
    elif has shasum; then
        shasum -a 256 <"$1"
    elif has openssl; then
        openssl dgst -sha256 -r <"$1"
    else
        fail "there is no sha256sum, shasum or openssl to verify with"
    fi | cut -c 1-64
}

# Lines of the list of digests $1 for target $2: those of version $3, or of any version if it is empty.
archives() {
    awk -v end="-$2.tar.gz" -v version="$3" '
        { name = $2; sub(/^\*/, "", name) }
        length($1) != 64 || $1 ~ /[^0-9a-f]/ || index(name, "oomdoc-") != 1 || name ~ /\// { next }
        {
            at = length(name) - length(end)
            if (at <= 7 || substr(name, at + 1) != end) next
            found = substr(name, 8, at - 7)
            if (version == "" || version == found) print $1, found, name
        }' "$1"
}

main() {
    prefix=${PREFIX:-$HOME/.local}
    version=${OOMDOC_VERSION:-}
    version=${version#v}
    target=${OOMDOC_TARGET:-$(target)}
    if [ -n "${OOMDOC_MIRROR:-}" ]; then
        from=${OOMDOC_MIRROR%/}
    elif [ -n "$version" ]; then
        from=$repository/releases/download/v$version
    else
        from=$repository/releases/latest/download
    fi

    folder=$(mktemp -d)
    stage=""
    trap 'rm -rf "$folder" "$stage"' EXIT
    trap 'exit 1' HUP INT TERM

    download "$from/SHA256SUMS" "$folder/SHA256SUMS"
    found=$(archives "$folder/SHA256SUMS" "$target" "$version")
    case $(printf '%s' "$found" | grep -c '') in
        0) fail "$from/SHA256SUMS lists no archive of ${version:-any version} for $target" ;;
        1) ;;
        *) fail "$from/SHA256SUMS lists several versions for $target: name one in OOMDOC_VERSION" ;;
    esac
    # The fields contain no spaces.
    # shellcheck disable=SC2086
    set -- $found
    expected=$1 version=$2 archive=$3
    # The newest release may have changed since SHA256SUMS was read, so pin the version.
    [ -n "${OOMDOC_MIRROR:-}" ] || from=$repository/releases/download/v$version
    if [ -n "${OOMDOC_SHA256:-}" ] && [ "$OOMDOC_SHA256" != "$expected" ]; then
        fail "$archive should have the SHA-256 $OOMDOC_SHA256, but $from lists $expected"
    fi
    download "$from/$archive" "$folder/$archive"
    actual=$(digest "$folder/$archive")
    [ "$actual" = "$expected" ] || fail "$archive has the SHA-256 $actual, and not $expected: it is damaged, or not ours"

    # Unpack on the destination's file system, so that a rename puts each file in place at once.
    mkdir -p "$prefix/bin" || fail "$prefix cannot be written; PREFIX names another folder"
    stage=$(mktemp -d "$prefix/.oomdoc.XXXXXX") || fail "$prefix cannot be written; PREFIX names another folder"
    tar -xzf "$folder/$archive" -C "$stage" || fail "$archive cannot be unpacked"
    root=$stage/${archive%.tar.gz}
    said=$("$root/bin/oomdoc" --version) || fail "the command of $archive does not run on this machine"
    [ "$said" = "oomdoc $version" ] || fail "the command of $archive says that it is $said"

    (cd "$root" && find share -type f) | while read -r file; do
        mkdir -p "$prefix/${file%/*}" && mv -f "$root/$file" "$prefix/$file" || exit 1
    done || fail "$prefix/share cannot be written; PREFIX names another folder"
    mv -f "$root/bin/oomdoc" "$prefix/bin/oomdoc"

    say "$version is installed as $prefix/bin/oomdoc; its manual and completions are in $prefix/share"
    say "verified: $archive has the SHA-256 $actual, as $from/SHA256SUMS lists it"
    case :$PATH: in
        *:"$prefix/bin":*) ;;
        *) say "$prefix/bin is not on your PATH: export PATH=\"$prefix/bin:\$PATH\"" ;;
    esac
}

# Everything runs from a function, so that a truncated download of this script runs nothing.
main "$@"
