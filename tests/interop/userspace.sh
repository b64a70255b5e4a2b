#!/usr/bin/env bash
# Plays all cases against a device in user space that is behind the DUT contract: a simulator, a
# model of an FPGA. A veth pair in a network namespace of its own is the wire.
#   userspace.sh REPORT COMMAND [ARGS...]   passes ARGS to `veriroce test`
# COMMAND, for sh, starts the device's agent and is killed at the end. It finds in its environment:
#   DUT_INTERFACE, DUT_MAC, DUT_ADDRESS   the device's end of the wire
#   DUT_LISTEN                            where the agent listens
# REPORT/I gets the report of part I, and the agent's output, agent.txt. A device that dies is
# started again. Called again, the script leaves out parts that were played to their end, and goes
# on. `veriroce report merge REPORT/[0-9]*` makes one report of the parts.
#   USERSPACE_PARTS (16)       how many parts the suite is played in
#   USERSPACE_JOBS (1)         how many parts are played at a time, each with its own device
#   USERSPACE_SECONDS (1800)   the time limit; what is not played by then stays incomplete
#   USERSPACE_ADDRESS (10.9.0.1)   the device's address; the tester has .254 and .253 of its /24
#   USERSPACE_KERNEL (0)       1: for a device on a UDP socket. The kernel owns its address, the
#                              device has a second namespace, and DUT_LISTEN is a Unix socket
#                              instead of a port of loopback
#   USERSPACE_MTU (1500)       of the wire
# Exit codes: 0 every part was played to its end, 1 not, 3 the device or the namespaces do not work.
set -euo pipefail

# Ends the device if it runs, starts it and waits until it listens. What --dut-reset calls.
start_device() {
    stop_device
    rm -f "${DUT_LISTEN#unix:}"
    # timeout(1) ends the device even if this script dies.
    setsid timeout -k 5 "$((USERSPACE_SECONDS + 60))" ip netns exec "$USERSPACE_DUT_NS" \
        sh -c "$USERSPACE_COMMAND" </dev/null >>"$USERSPACE_PART/agent.txt" 2>&1 &
    echo $! >"$USERSPACE_PART/pid"
    disown
    local turns=0
    until listens; do
        if ! kill -0 "$(cat "$USERSPACE_PART/pid")" 2>/dev/null || ((turns++ == 600)); then
            echo "userspace: the agent does not listen:" >&2
            tail -5 "$USERSPACE_PART/agent.txt" >&2
            return 1
        fi
        sleep 0.05
    done
}

listens() {
    if [[ $DUT_LISTEN == unix:* ]]; then
        [[ -S ${DUT_LISTEN#unix:} ]]
    else
        ip netns exec "$USERSPACE_DUT_NS" ss -Htln "src $DUT_LISTEN" | grep -q .
    fi
}

stop_device() { # with all that it has started
    [[ -s $USERSPACE_PART/pid ]] || return 0
    kill -KILL -- "-$(cat "$USERSPACE_PART/pid")" 2>/dev/null || true
    rm -f "$USERSPACE_PART/pid"
}

if [[ ${1:-} == --revive ]]; then
    start_device
    exit
fi

[[ $# -ge 2 ]] || { sed -n '2,/^set/{/^set/d; s/^# \{0,1\}//; p}' "$0" && exit 2; }
[[ $(id -u) == 0 ]] || { echo "userspace: needs root" >&2 && exit 3; }
veriroce=$(realpath "${VERIROCE:-$(dirname "$0")/../../build/release/veriroce}")
script=$(realpath "$0")
mkdir -p "$1"
report=$(realpath "$1")
export USERSPACE_COMMAND=$2 USERSPACE_SECONDS=${USERSPACE_SECONDS:-1800}
shift 2
parts=${USERSPACE_PARTS:-16}
kernel=${USERSPACE_KERNEL:-0}
export DUT_INTERFACE=dut0 DUT_MAC=02:00:00:00:00:01 DUT_ADDRESS=${USERSPACE_ADDRESS:-10.9.0.1}

network_up() {
    local ns
    for ns in "${namespaces[@]}"; do
        ip netns add "$ns"
        ip -n "$ns" link set lo up
        ip netns exec "$ns" sysctl -qw net.ipv6.conf.all.disable_ipv6=1 \
            net.ipv6.conf.default.disable_ipv6=1
    done
    local mtu=${USERSPACE_MTU:-1500}
    ip -n "$tester_ns" link add tester0 address 02:00:00:00:00:fe mtu "$mtu" type veth \
        peer name "$DUT_INTERFACE" netns "$USERSPACE_DUT_NS" address "$DUT_MAC" mtu "$mtu"
    ip -n "$tester_ns" link set tester0 up
    ip -n "$USERSPACE_DUT_NS" link set "$DUT_INTERFACE" up
    [[ $kernel == 0 ]] ||
        ip -n "$USERSPACE_DUT_NS" addr add "$DUT_ADDRESS/24" dev "$DUT_INTERFACE"
}
network_down() {
    local ns
    for ns in "${namespaces[@]}"; do ip netns del "$ns" 2>/dev/null || true; done
}

complete() { # part
    grep -q '"complete": *true' "$report/$1/results.json" 2>/dev/null
}

play_part() { # part deadline ARGS...
    local part=$1 deadline=$2 left
    shift 2
    export USERSPACE_PART=$report/$part
    export DUT_LISTEN=127.0.0.1:4790
    [[ $kernel == 0 ]] || DUT_LISTEN=unix:$USERSPACE_PART/agent
    rm -rf "$USERSPACE_PART"
    mkdir -p "$USERSPACE_PART"
    start_device || exit 3
    left=$((deadline - SECONDS))
    # A part that is begun late is ended at once, so that its report says incomplete.
    timeout -s INT -k 60 "$((left > 5 ? left : 5))" ip netns exec "$tester_ns" \
        "$veriroce" test -q --dut "$DUT_LISTEN" -i tester0 \
        --tester-address "${DUT_ADDRESS%.*}.254/24,${DUT_ADDRESS%.*}.253/24" \
        --shard "$part/$parts" \
        --dut-reset "'$script' --revive" --report "$USERSPACE_PART" "$@" \
        >"$USERSPACE_PART/console.txt" 2>&1 || true
    stop_device
    if [[ ! -e $USERSPACE_PART/results.json ]]; then
        tail -3 "$USERSPACE_PART/console.txt" >&2
        exit 3
    fi
}

# Plays every JOBS-th part from the JOB-th on, with a device and a wire of their own.
play_parts() { # JOB JOBS ARGS...
    local job=$1 jobs=$2 part missing=0
    shift 2
    local tester_ns=userspace-$$-$job
    export USERSPACE_DUT_NS=$tester_ns
    local namespaces=("$tester_ns")
    if [[ $kernel != 0 ]]; then
        USERSPACE_DUT_NS=$tester_ns-dut
        namespaces+=("$USERSPACE_DUT_NS")
    fi
    export USERSPACE_PART=$report # until the first part
    trap 'stop_device; network_down' EXIT
    network_up || { echo "userspace: cannot create the network namespaces" >&2 && exit 3; }
    for ((part = job; part <= parts; part += jobs)); do
        complete "$part" && continue
        play_part "$part" "$deadline" "$@"
        if complete "$part"; then
            printf 'userspace: part %s of %s: %s\n' "$part" "$parts" \
                "$(grep -E '^[0-9]+ passed, ' "$USERSPACE_PART/console.txt")"
            continue
        fi
        echo "userspace: part $part of $parts is incomplete"
        missing=1
        ((SECONDS < deadline)) || break
    done
    exit "$missing"
}

deadline=$((SECONDS + USERSPACE_SECONDS))
workers=()
for ((job = 1; job <= ${USERSPACE_JOBS:-1}; ++job)); do
    (play_parts "$job" "${USERSPACE_JOBS:-1}" "$@") &
    workers+=($!)
done
worst=0
for worker in "${workers[@]}"; do
    wait "$worker" || { code=$? && worst=$((code > worst ? code : worst)); }
done
exit "$worst"
