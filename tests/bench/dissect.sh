#!/usr/bin/env bash
# Compares veriroce dissect with tshark on one capture, read from memory, output discarded: three
# runs in turns, medians of wall-clock time.
#   tests/bench/dissect.sh CAPTURE [PROGRAM]        RUNS=3
set -euo pipefail
capture=${1:?a capture file, such as one of make_captures}
program=${2:-build/release/veriroce}
runs=${RUNS:-3}
settings=$(mktemp -d)
trap 'rm -r "$settings"' EXIT
export WIRESHARK_CONFIG_DIR=$settings

fields=(-e infiniband.bth.opcode -e infiniband.bth.psn)

seconds() { # COMMAND... -> wall-clock seconds
    local TIMEFORMAT=%R
    { time "$@" >/dev/null 2>"$settings/err"; } 2>&1
}

median() { sort -n | sed -n "$(((runs + 1) / 2))p"; }

pair() { # NAME, then the options of both
    local name=$1 ours=() theirs=()
    shift
    for _ in $(seq "$runs"); do
        ours+=("$(seconds "$program" dissect "${own[@]}" "$@" "$capture")")
        theirs+=("$(seconds tshark -n -r "$capture" "$@")")
    done
    local a b
    a=$(printf '%s\n' "${ours[@]}" | median)
    b=$(printf '%s\n' "${theirs[@]}" | median)
    awk -v n="$name" -v a="$a" -v b="$b" \
        'BEGIN { printf "%-8s veriroce %8.3f s   tshark %8.3f s   %6.1fx\n", n, a, b, b / a }'
}

own=() # options of ours alone
cat "$capture" >/dev/null # both read from memory
pair fields -T fields "${fields[@]}"
pair json -T json "${fields[@]}"
pair lines         # with what is known of connections, which tshark does not know
own=(--no-flow)    # the same as tshark's
pair no-flow
