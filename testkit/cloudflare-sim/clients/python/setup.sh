#!/bin/sh
# Makes the virtual environment of the Python client, once per requirements.txt, and prints its interpreter.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
cache=${ZONEKEEPER_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/zonekeeper}
key=$(python3 -c 'import hashlib, sys; print(hashlib.sha256(open(sys.argv[1], "rb").read()).hexdigest()[:16])' \
    "$here/requirements.txt")
venv="$cache/cloudflare-python-$key"
if [ ! -e "$venv/complete" ]; then
    mkdir -p "$cache"
    # A half-made environment of an interrupted run has no marker and is made anew.
    python3 -m venv --clear "$venv" >&2
    "$venv/bin/python" -m pip install --quiet --requirement "$here/requirements.txt" >&2
    : >"$venv/complete"
fi
echo "$venv/bin/python"
