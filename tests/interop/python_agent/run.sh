#!/usr/bin/env bash
# Runs veriroce with the Python agent: two network namespaces with a veth pair between them, the
# agent in the second. Needs root.
#
#   run.sh VERIROCE REPORT_DIR test -i va --dut @agent
#   run.sh VERIROCE REPORT_DIR agent --check @agent
#
# @agent becomes the agent's address. Exits with the code of veriroce; the output of the
# agent is in REPORT_DIR/agent.txt.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)

if [[ ${VERIROCE_NAMESPACE:-} != own ]]; then
    VERIROCE_NAMESPACE=own exec unshare --net -- "$0" "$@"
fi
veriroce=$1 report=$2
shift 2
mkdir -p "$report"

keeper='' agent=''
finish() {
    [[ -z $agent ]] || kill "$agent" 2>/dev/null || true
    [[ -z $keeper ]] || kill "$keeper" 2>/dev/null || true
}
trap finish EXIT

unshare --net -- sleep 3600 &
keeper=$!
own=$(readlink /proc/self/ns/net)
until theirs=$(readlink "/proc/$keeper/ns/net") && [[ -n $theirs && $theirs != "$own" ]]; do
    sleep 0.05
done
at_peer() { nsenter --net="/proc/$keeper/ns/net" -- "$@"; }

ip link add va mtu 4200 type veth peer name vb mtu 4200 netns "$keeper"
ip link set lo up
ip link set va up
ip addr add 10.77.0.254/24 dev va
ip addr add fd77::fe/64 dev va nodad
at_peer ip link set lo up
at_peer ip link set vb up
at_peer ip addr add 10.77.0.1/24 dev vb
at_peer ip addr add fd77::1/64 dev vb nodad

socket=$report/agent.sock
rm -f "$socket"
at_peer python3 -B "$here/agent.py" --interface vb --address 10.77.0.1 fd77::1 \
    --listen "unix:$socket" >"$report/agent.txt" 2>&1 &
agent=$!
for ((turns = 0; turns < 200; turns++)); do
    [[ ! -S $socket ]] || break
    sleep 0.05
done
[[ -S $socket ]] || { cat "$report/agent.txt" >&2; exit 3; }

status=0
"$veriroce" "${@//@agent/unix:$socket}" || status=$?
if ! kill -0 "$agent" 2>/dev/null; then
    echo "run.sh: the agent ended before the run did" >&2
    cat "$report/agent.txt" >&2
    status=3
fi
exit "$status"
