#!/usr/bin/env bash
# The suite against a device that is not ours: Linux rdma_rxe in a virtual machine, driven through
# veriroce-agent there. Wants build/release (./test.sh --interop builds it first).
#   run.sh [ARGS...]     ARGS go to `veriroce test`, for example a case's name
#   INTEROP_MTU (1500)   the network's MTU; 4200 lets path MTU 4096 through
#   INTEROP_REPORT       where the report goes (build/interop)
# Exit codes: 0 all as expected, 1 something failed, 3 the virtual machine cannot do its part.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
cd "$root"
if [[ $(id -u) != 0 ]]; then
    command -v sudo >/dev/null || { echo "interop: needs root or sudo" >&2 && exit 3; }
    exec sudo -E "$0" "$@"
fi

lab=tests/interop/lab.sh
veriroce=build/release/veriroce
agent=build/release/veriroce-agent
report=${INTEROP_REPORT:-build/interop}
device=10.77.0.1:4790
export LAB_NS=${LAB_NS:-veriroce-interop} LAB_MTU=${INTEROP_MTU:-1500}
export LAB_LIFE=${LAB_LIFE:-1500} LAB_JOB_SECONDS=${LAB_JOB_SECONDS:-1500}

for program in "$veriroce" "$agent"; do
    [[ -x $program ]] || { echo "interop: $program is not built" >&2 && exit 1; }
done

mkdir -p "$report"
token_file=$report/token
(umask 077 && od -An -N16 -tx1 /dev/urandom | tr -d ' \n' >"$token_file")
clean_up() {
    "$lab" stop
    rm -f "$token_file"
    # Under sudo the report belongs to the one who called it.
    [[ -z ${SUDO_UID:-} ]] || chown -R "$SUDO_UID:${SUDO_GID:-$SUDO_UID}" "$report"
}
trap clean_up EXIT

start_agent() {
    "$lab" put "$agent"
    # The token goes in as a file that only root there can read, as the agent demands.
    "$lab" exec 1 "umask 077; echo '$(cat "$token_file")' >/root/token"
    agent_job=$("$lab" bg 1 "veriroce-agent --backend verbs --listen $device \
        --token-file /root/token")
    local turns=0
    until "$lab" ns bash -c "exec 3<>/dev/tcp/${device/:/\/}" 2>/dev/null; do
        if ((turns++ >= 50)); then
            "$lab" output 1 "$agent_job" >&2
            echo "interop: the agent does not listen on $device" >&2
            exit 1
        fi
        sleep 0.2
    done
}

# What the machine at hand must be able to do: exit 3 of the lab is ours.
"$lab" start 1
start_agent

status=0
"$lab" ns "$veriroce" test --dut "$device" --dut-token-file "$token_file" -i tester0 \
    --report "$report" "$@" || status=$?
if [[ $status != 0 ]]; then
    echo "interop: veriroce test ended with $status; the agent said:" >&2
    "$lab" output 1 "$agent_job" >&2
    exit 1
fi
