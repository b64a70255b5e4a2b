#!/usr/bin/env bash
# Tests veriroce against Linux rdma_rxe in a virtual machine: the suite through veriroce-agent in
# the guest; serve and ping against ibv_rc_pingpong; operations between our engine and rxe. Needs
# build/release; where a program is missing it says how to build it (./test.sh --interop does).
#   run.sh [ARGS...]     passes ARGS to `veriroce test`, for example a case's name
#   INTEROP_MTU (4200)   the network's MTU; 4200 allows path MTU 4096
#   INTEROP_SHARE        I/N: of the whole suite over IPv4 only part I of N (default: all)
#   INTEROP_REPORT       the folder of the report (build/interop)
#   LAB_KERNEL           another kernel than Debian 12's, for example 6.12 (kernel.sh)
# Exit codes: 0 all as expected, 1 something failed, 3 the virtual machine does not work here.
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

for program in "$veriroce" "$agent" build/release/interop_peers; do
    [[ -x $program ]] && continue
    echo "interop: $program is not built:" \
        "cmake --preset release && cmake --build --preset release" \
        "--target veriroce veriroce-agent interop_peers" >&2
    exit 1
done

# shellcheck source=tests/interop/guest_agent.sh
source tests/interop/guest_agent.sh

mkdir -p "$report"
token_file=$report/token
new_token "$token_file"
clean_up() {
    "$lab" stop
    rm -f "$token_file"
    # Under sudo, give the report to the calling user.
    [[ -z ${SUDO_UID:-} ]] || chown -R "$SUDO_UID:${SUDO_GID:-$SUDO_UID}" "$report"
}
trap clean_up EXIT

# Runs a command; shows its output only if it fails. Where packets are lost at random, and others
# keep the machine busy, a command may fail once: it is tried again, and that is told.
attempt() {
    if "$@" >"$report/attempt.txt" 2>&1; then
        pass
        return
    fi
    cat "$report/attempt.txt" >&2
    if "$@" >"$report/attempt.txt" 2>&1; then
        second_try "$*"
        pass
    else
        cat "$report/attempt.txt" >&2
        fail "$*"
    fi
}

# If the lab exits with 3, so do we.
"$lab" start 1
start_agent

resources() { "$lab" exec 1 "rdma resource show rxe0"; }
before=$(resources)

# nothing_left WHEN: the device must have the same resources as at the start. Resources of a closed
# connection may take a moment to disappear.
nothing_left() {
    local after turns=0
    until after=$(resources) && [[ $after == "$before" ]]; do
        if ((turns++ >= 20)); then
            fail "$1: the device's resources differ; expected: $before; got: $after"
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
second_try() { echo "interop: FAILED at the first try: $*" >&2; } # test.sh shows it at its end
fail() { # sentence; test.sh shows it again at its end
    echo "interop: FAILED: $*" >&2
    failures=$((failures + 1))
}

# The profile lists what rxe does wrong: it turns FAIL and WARN into XFAIL, and PASS into XPASS. Of
# an entry with `sometimes`, at least one run must show the deviation, except in timing cases. An
# ERROR is a time that is too noisy to judge; on a busy machine one run in twenty may end so.
profile=conformance/profiles/linux-rxe.yaml
# Every kernel of rxe that we tried dies of these, or (cm) its QP 1.
lethal=(--exclude bth/truncated-options --exclude enc/host-address --exclude key/invalidate-twice
    --exclude cm/long-datagrams)
kernel=$("$lab" exec 1 "uname -r")
vanished() { # CONSOLE: listed cases of this kernel that ran without their deviation
    awk -v kernel="$kernel" '
         function case_of(id) { sub(/\[.*/, "", id); return id }
         function number(version, parts) {
             split(version, parts, ".")
             return parts[1] * 1000 + parts[2]
         }
         function ours(range, ends) {
             if (range == "") return 1
             if (range !~ /\.\./) range = range ".." range
             split(range, ends, /\.\./)
             return (ends[1] == "" || number(ends[1]) <= number(kernel)) &&
                    (ends[2] == "" || number(kernel) <= number(ends[2]))
         }
         function end_of_entry() {
             if (name != "" && name in played && !(name in timing) && ours(range) &&
                 !(("XFAIL " name) in seen)) print name
             name = range = ""
         }
         FILENAME == ARGV[1] { timing[case_of($1)] = 1; next }
         FILENAME == ARGV[2] { seen[$1 " " case_of($2)] = played[case_of($2)] = 1; next }
         $1 == "-" { end_of_entry() }
         $1 == "-" && $2 == "case:" { name = case_of($3) }
         $1 == "kernel:" { range = $2 }
         END { end_of_entry() }' \
        <("$veriroce" test --list --tag timing) \
        <(grep -E '^(PASS|FAIL|WARN|XFAIL|ERROR) ' "$1") "$profile"
}

# play FOLDER IP ARGS...: plays over these IP versions, with a report and a capture.
play() {
    local folder=$1 ip=$2
    shift 2
    mkdir -p "$folder"
    "$lab" ns timeout -k 5 1800 "$veriroce" test --dut "$device" \
        --dut-token-file "$token_file" -i tester0 --profile "$profile" --over "ip=$ip" \
        --strict --allow-errors 5% \
        --report "$folder" --capture "$folder/run.pcapng" "$@" >"$folder/console.txt"
}

# run_suite NAME IP OPTIONS... -- SELECTION...: A few runs that fail are played again, alone: a busy
# machine may have spoiled them.
run_suite() {
    local name=$1 ip=$2 options=()
    shift 2
    while [[ $1 != -- ]]; do
        options+=("$1")
        shift
    done
    shift
    local folder=$report/$name code=0
    echo "interop: $name"
    play "$folder" "$ip" "${options[@]}" "$@" || code=$?
    tail -n 3 "$folder/console.txt"
    local wrong gone="" failed
    wrong=$(awk '/^(FAIL|WARN|XPASS|ERROR) / { print $1, $2 }' "$folder/console.txt")
    mapfile -t failed < <(awk '/^(FAIL|WARN|XPASS) / { print $2 }' "$folder/console.txt")
    if [[ $code == 1 ]] && ((${#failed[@]} > 0 && ${#failed[@]} <= 5)) &&
        play "$folder/again" "$ip" "${options[@]}" "${failed[@]}"; then
        second_try "$name: ${failed[*]}"
        code=0
    fi
    # The runs of a case are in several shares, so that a share cannot say what no longer shows.
    [[ " $* " == *" --shard "* ]] || gone=$(vanished "$folder/console.txt")
    if [[ $code != 0 || -n $gone ]]; then
        grep -v '^PASS' "$folder/console.txt" >&2
        fail "$name: ended with $code; not in the profile: ${wrong:-none};" \
            "in the profile, not seen: ${gone:-none}"
        return
    fi
    # An independent check: tshark reads the capture, every packet of the device is RoCE, and the IP
    # IDs of both directions are not 0 (so that an ICRC without them would be noticed), but for the
    # one of 65,536 that chance gives.
    local packets roce zero
    local device_address='(ip.src == 10.77.0.1 or ipv6.src == fd77::1)'
    packets=$(packets_in "$folder/run.pcapng" "$device_address")
    roce=$(packets_in "$folder/run.pcapng" "$device_address and infiniband")
    zero=$(packets_in "$folder/run.pcapng" 'ip.id == 0')
    echo "interop: $name: tshark reads $packets packets, $roce of them RoCE, $zero with IP ID 0"
    if ((packets == 0 || roce != packets || zero > packets / 1000)); then
        fail "$name: expected only RoCE packets from the device, and hardly an IP ID 0"
        return
    fi
    pass
}

echo "interop: checking the agent"
attempt "$lab" ns timeout -k 5 120 "$veriroce" agent --check "$device" --token-file "$token_file"
nothing_left "after the check"

# Over IPv6 only cases that rxe is known to survive: a packet that ends inside its BTH
# (bth/truncated) crashes the kernel of rxe 6.1: __rxe_put on a QP that was never looked up.
tame=(bth/transport-version bth/unknown-qp crc/bad-icrc-request crc/bad-icrc-response
    key/unknown-rkey len/zero-length-read rdr/response-opcodes req/lost-read-response
    req/sequence-nak rsp/duplicate-send rsp/gap-nak rsp/psn-wrap rsp/psn-wrap-nak
    tmo/retry-exceeded)
if [[ $# -gt 0 ]]; then
    run_suite own-address 4,6 -- "$@"
else
    run_suite own-address 4 -- "${lethal[@]}" ${INTEROP_SHARE:+--shard "$INTEROP_SHARE"}
    run_suite own-address-ipv6 6 -- "${tame[@]}"
fi
nothing_left "after the suite"
# Two addresses of each family that the kernel does not own: the tester's, and another host's.
[[ $# -gt 0 ]] || set -- "${tame[@]}"
run_suite extra-address 4,6 \
    --tester-address 10.77.0.200/24,10.77.0.201/24,fd77::200/64,fd77::201/64 -- "$@"

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

# If the DUT disappears during a run, veriroce prints one sentence, exits with 3 and judges nothing.
echo "interop: the agent is killed during a run"
"$lab" bg 1 "sleep 2; killall veriroce-agent" >/dev/null
code=0
"$lab" ns timeout -k 5 120 "$veriroce" test --dut "$device" --dut-token-file "$token_file" \
    -i tester0 tmo crc >"$report/killed.txt" 2>&1 || code=$?
if [[ $code != 3 ]] || grep -q ^FAIL "$report/killed.txt" ||
    ! grep -q 'closed the connection, during .* were not played' "$report/killed.txt"; then
    cat "$report/killed.txt" >&2
    fail "killed agent: expected exit code 3, no FAIL and the name of the case; got exit code $code"
else
    pass
fi
nothing_left "after the agent was killed"

if ((failures > 0)); then
    echo "interop: output of the agent:" >&2
    "$lab" output 1 "$agent_job" >&2
fi
echo "interop: $passes passed, $failures failed"
((failures == 0))
