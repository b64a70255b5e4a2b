#!/usr/bin/env bash
# What is ours with what is not: Linux rdma_rxe in a virtual machine. The suite against it, through
# veriroce-agent there; serve and ping with ibv_rc_pingpong; our engine's operations with rxe's.
# Wants build/release (./test.sh --interop builds it first).
#   run.sh [ARGS...]     ARGS go to `veriroce test`, for example a case's name
#   INTEROP_MTU (4200)   the network's MTU; 4200 lets path MTU 4096 through
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
export LAB_NS=${LAB_NS:-veriroce-interop} LAB_MTU=${INTEROP_MTU:-4200}
export LAB_LIFE=${LAB_LIFE:-2400} LAB_JOB_SECONDS=${LAB_JOB_SECONDS:-2400}

for program in "$veriroce" "$agent"; do
    [[ -x $program ]] || { echo "interop: $program is not built" >&2 && exit 1; }
done

# shellcheck source=tests/interop/guest_agent.sh
source tests/interop/guest_agent.sh

mkdir -p "$report"
token_file=$report/token
new_token "$token_file"
clean_up() {
    "$lab" stop
    rm -f "$token_file"
    # Under sudo the report belongs to the one who called it.
    [[ -z ${SUDO_UID:-} ]] || chown -R "$SUDO_UID:${SUDO_GID:-$SUDO_UID}" "$report"
}
trap clean_up EXIT

# What an attempt says goes to a file, which is shown where it fails.
attempt() {
    if "$@" >"$report/attempt.txt" 2>&1; then
        pass
    else
        cat "$report/attempt.txt" >&2
        fail "$*"
    fi
}

# What the machine at hand must be able to do: exit 3 of the lab is ours.
"$lab" start 1
start_agent

resources() { "$lab" exec 1 "rdma resource show rxe0"; }
before=$(resources)

# nothing_left WHEN: the device has what it had before anything was asked of it. What a closed
# connection had may take some moments to go.
nothing_left() {
    local after turns=0
    until after=$(resources) && [[ $after == "$before" ]]; do
        if ((turns++ >= 20)); then
            fail "$1 something was left behind in the device; before: $before; after: $after"
            return
        fi
        sleep 0.5
    done
    pass
}

# packets_in FILE FILTER: how many packets tshark finds.
packets_in() { tshark -r "$1" -Y "$2" -T fields -e frame.number 2>/dev/null | wc -l; }

passes=0
failures=0
pass() { passes=$((passes + 1)); }
fail() { # sentence
    echo "interop: $*" >&2
    failures=$((failures + 1))
}

# What rxe does wrong, and is known for, stands in its profile: FAIL and WARN become XFAIL there,
# and what is no longer wrong becomes XPASS. Of an entry that holds `sometimes`, for some runs of
# its case, one has to show, but where it is about time. An ERROR is a time too noisy to judge: one
# run in twenty may end so, on a busy machine.
profile=conformance/profiles/linux-rxe.yaml
unlisted() { # CONSOLE
    awk '/^(FAIL|WARN|XPASS) / { print $1, $2 }' "$1"
}
too_noisy() { # CONSOLE
    awk '/^(PASS|FAIL|WARN|XFAIL|XPASS) / { judged++ }
         /^ERROR / { noisy++; names = names " " $2 }
         END { if (noisy * 20 > judged + noisy) print noisy " of " judged + noisy ":" names }' "$1"
}
vanished() { # CONSOLE: of the cases that were played
    awk 'function case_of(id) { sub(/\[.*/, "", id); return id }
         FILENAME == ARGV[1] { timing[case_of($1)] = 1; next }
         FILENAME == ARGV[2] { seen[$1 " " case_of($2)] = played[case_of($2)] = 1; next }
         $1 != "-" || $2 != "case:" || !($3 in played) || $3 in timing { next }
         !(("XFAIL " $3) in seen) { print $3 }' \
        <("$veriroce" test --list --tag timing) \
        <(grep -E '^(PASS|FAIL|WARN|XFAIL|ERROR) ' "$1") "$profile"
}

# run_suite NAME IP ARGS...: over these IP versions, with a report and a capture of its own.
run_suite() {
    local name=$1 ip=$2
    shift 2
    local folder=$report/$name code=0
    echo "interop: $name"
    mkdir -p "$folder"
    "$lab" ns timeout -k 5 900 "$veriroce" test --dut "$device" \
        --dut-token-file "$token_file" -i tester0 --profile "$profile" --over "ip=$ip" \
        --report "$folder" --capture "$folder/run.pcapng" "$@" >"$folder/console.txt" || code=$?
    tail -n 3 "$folder/console.txt"
    local wrong gone noise
    wrong=$(unlisted "$folder/console.txt")
    gone=$(vanished "$folder/console.txt")
    noise=$(too_noisy "$folder/console.txt")
    if [[ -n $wrong || -n $gone || -n $noise ]] || ! grep -q ' passed, ' "$folder/console.txt"; then
        grep -v '^PASS' "$folder/console.txt" >&2
        fail "$name: ended with $code; unlisted: ${wrong:-none}; listed, not seen:" \
            "${gone:-none}; too noisy: ${noise:-none}"
        return
    fi
    # Somebody else's eyes: tshark reads the capture, every packet of the device is RoCE, and the IP
    # IDs of both directions count (an ICRC that left them out would show).
    local packets roce zero
    local device_address='(ip.src == 10.77.0.1 or ipv6.src == fd77::1)'
    packets=$(packets_in "$folder/run.pcapng" "$device_address")
    roce=$(packets_in "$folder/run.pcapng" "$device_address and infiniband")
    zero=$(packets_in "$folder/run.pcapng" 'ip.id == 0')
    echo "interop: $name: tshark reads $packets packets, $roce of them RoCE, $zero with IP ID 0"
    if ((packets == 0 || roce != packets || zero > 0)); then
        fail "$name: the capture is not what it should be"
        return
    fi
    pass
}

echo "interop: what the agent answers"
attempt "$lab" ns timeout -k 5 120 "$veriroce" agent --check "$device" --token-file "$token_file"
nothing_left "after the check"

# Over IPv6 only what is known to leave the device alive: a packet that ends inside its BTH
# (bth/truncated) is the end of rxe 6.1's kernel there: __rxe_put on what was never looked up.
tame=(bth/transport-version bth/unknown-qp crc/bad-icrc-request crc/bad-icrc-response
    key/unknown-rkey len/zero-length-read rdr/response-opcodes req/lost-read-response
    req/sequence-nak rsp/duplicate-send rsp/gap-nak rsp/psn-wrap rsp/psn-wrap-nak
    tmo/retry-exceeded)
if [[ $# -gt 0 ]]; then
    run_suite own-address 4,6 "$@"
else
    run_suite own-address 4
    run_suite own-address-ipv6 6 "${tame[@]}"
fi
nothing_left "after the suite"
# Two addresses of each family that the kernel does not own: of us, and of somebody else.
[[ $# -gt 0 ]] || set -- "${tame[@]}"
run_suite extra-address 4,6 \
    --tester-address 10.77.0.200/24,10.77.0.201/24,fd77::200/64,fd77::201/64 "$@"

# shellcheck source=tests/interop/network.sh
source tests/interop/network.sh
# shellcheck source=tests/interop/vlan.sh
source tests/interop/vlan.sh
# shellcheck source=tests/interop/pingpong.sh
source tests/interop/pingpong.sh
# shellcheck source=tests/interop/peers.sh
source tests/interop/peers.sh
run_vlan
run_pingpong
run_peers

nothing_left "at the end"

# A DUT that goes away in the middle: one sentence, exit code 3, no verdict on the device.
echo "interop: the agent is killed during a run"
"$lab" bg 1 "sleep 2; killall veriroce-agent" >/dev/null
code=0
"$lab" ns timeout -k 5 120 "$veriroce" test --dut "$device" --dut-token-file "$token_file" \
    -i tester0 tmo crc >"$report/killed.txt" 2>&1 || code=$?
if [[ $code != 3 ]] || grep -q ^FAIL "$report/killed.txt" ||
    ! grep -q 'closed the connection, during .* were not played' "$report/killed.txt"; then
    cat "$report/killed.txt" >&2
    fail "a killed agent gave exit code $code, expected 3, no FAIL and the case that met it"
else
    pass
fi
nothing_left "after the agent was killed"

if ((failures > 0)); then
    echo "interop: the agent said:" >&2
    "$lab" output 1 "$agent_job" >&2
fi
echo "interop: $passes passed, $failures failed"
((failures == 0))
