#!/usr/bin/env bash
# Two soft RoCE devices (rdma_rxe) in virtual machines, with `veriroce inject` between them: plays
# plans of the library under stock tools, and prints what the bump and the tools say. By hand; needs
# what lab.sh needs.
#
#   [INJECT_OPTIONS="--report DIR"] inject.sh VERIROCE [PLAN...]
#
# VM 2 is the requester, and side A of the plans.
set -euo pipefail
scripts=$(cd "$(dirname "$0")" && pwd)
plans=$scripts/../../transport/inject/plans
program=$(realpath "$1")
shift
[[ $# -gt 0 ]] || set -- single-loss-middle lost-ack random-loss corruption reordering
lab=$scripts/lab.sh
export LAB_NS=${LAB_NS:-veriroce-inject}
trap '"$lab" stop >/dev/null 2>&1' EXIT
"$lab" start 2
# Instead of the bridge, the bump joins them.
for tap in tap1 tap2; do ip -n "$LAB_NS" link set "$tap" nomaster up; done

plan_file() { # a file, or the name of one of the library
    if [[ -f $1 ]]; then echo "$1"; else echo "$plans/$1.faults"; fi
}

play() { # plan, the tool with its options
    echo "== $1: $2"
    ip netns exec "$LAB_NS" "$program" inject tap2 tap1 \
        --plan "$(plan_file "$1")" -q ${INJECT_OPTIONS:-} >"$output" &
    local bump=$! job
    until grep -q '^plan ' "$output" 2>/dev/null; do sleep 0.1; done
    job=$("$lab" bg 1 "timeout 100 $2")
    sleep 1
    "$lab" exec 2 "timeout 100 $2 10.77.0.1" | tail -3 || echo "the client failed"
    "$lab" wait 1 "$job" >/dev/null || echo "the server failed"
    kill -TERM "$bump"
    wait "$bump" || echo "exit code $?"
    cat "$output"
}

output=$(mktemp)
for plan in "$@"; do
    tool="ib_write_bw -d rxe0 -x 1 -F -n 100 -s 65536"
    [[ $plan != *read* ]] || tool="ib_read_bw -d rxe0 -x 1 -F -n 100 -s 65536"
    [[ $plan != *atomic* ]] || tool="ib_atomic_bw -d rxe0 -x 1 -F -n 100"
    play "$plan" "$tool"
done
rm -f "$output"
