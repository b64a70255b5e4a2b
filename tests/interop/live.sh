#!/usr/bin/env bash
# Checks that verdicts are stable on a live wire, by running all cases many times: against the
# built-in engine behind an agent with raw frames at the other end of a veth pair, first on an idle
# machine, then with every core but one busy; or against Linux rdma_rxe in a virtual machine with
# its profile, where every run must show the same known deviations. Needs root; changes nothing in
# the host's network.
#
#   live.sh [RUNS] [FOLDER]         RUNS of each kind (20); writes reports to FOLDER (build/live)
#   live.sh --noisy [RUNS] [FOLDER] RUNS (3) against the engine over a bridge that loses one of 500
#                                   packets, or of LIVE_LOSES_ONE_OF
#   live.sh --rxe [RUNS] [FOLDER]   RUNS against rxe (5), about half an hour each
#
# Exit codes: 0 if only cases tagged `timing` end with ERROR (over the bad bridge also others), none
# with FAIL or WARN, and the same ones with XFAIL in all runs, except what shows only sometimes
# (live_verdicts.py); 1 otherwise; 3 if the virtual machine does not work here.
set -euo pipefail
cd "$(dirname "$0")/../.."
against=engine runs=20 kinds=(idle busy) profile=()
if [[ ${1:-} == --rxe ]]; then
    against=rxe runs=5 kinds=(rxe)
    profile=(--profile conformance/profiles/linux-rxe.yaml)
    # rxe's kernel dies of the first three, and its connection management of the last one.
    profile+=(--exclude bth/truncated-options --exclude enc/host-address)
    profile+=(--exclude key/invalidate-twice --exclude cm/long-datagrams)
    shift
elif [[ ${1:-} == --noisy ]]; then
    runs=3 kinds=(noisy)
    shift
fi
runs=${1:-$runs}
folder=${2:-build/live}
veriroce=${VERIROCE:-build/release/veriroce}
agent=${VERIROCE_AGENT:-build/release/veriroce-agent}
[[ $runs =~ ^[1-9][0-9]*$ ]] || { echo "live: RUNS: expected a number, got '$runs'" >&2 && exit 1; }
[[ -x $veriroce ]] || { echo "live: $veriroce is not built" >&2 && exit 1; }
# shellcheck source=tests/interop/guest_agent.sh
source tests/interop/guest_agent.sh

mkdir -p "$folder"
token_file=$folder/token
new_token "$token_file"

# bad_bridge TESTER DUT: a wire between the two namespaces, through a third one in which a bridge
# loses one of 500 RoCEv2 packets in both directions.
bad_bridge() {
    bridge=veriroce-live-bridge-$$
    namespaces+=("$bridge")
    ip netns add "$bridge"
    ip -n "$1" link add tester0 mtu 4500 type veth peer name near mtu 4500 netns "$bridge"
    ip -n "$2" link add port0 mtu 4500 type veth peer name far mtu 4500 netns "$bridge"
    ip -n "$bridge" link add br0 mtu 4500 type bridge
    local port
    for port in near far; do ip -n "$bridge" link set "$port" master br0 up; done
    ip -n "$bridge" link set br0 up
    ip netns exec "$bridge" nft -f - <<NFT
table bridge veriroce_loss {
    chain forward {
        type filter hook forward priority 0;
        udp dport 4791 numgen random mod ${LIVE_LOSES_ONE_OF:-500} < 1 counter drop
    }
}
NFT
}

# Two namespaces, connected by one wire for the test and one for the agent's contract.
start_engine() {
    local dut=veriroce-live-dut-$$ tester=veriroce-live-tester-$$
    namespaces+=("$dut" "$tester")
    ip netns add "$dut"
    ip netns add "$tester"
    if [[ ${kinds[0]} == noisy ]]; then
        bad_bridge "$tester" "$dut"
    else
        ip -n "$tester" link add tester0 mtu 4500 type veth peer name port0 mtu 4500 netns "$dut"
    fi
    ip -n "$tester" link add control0 type veth peer name control0 netns "$dut"
    ip -n "$tester" addr add 10.79.0.2/24 dev tester0
    ip -n "$tester" addr add 10.78.0.2/24 dev control0
    ip -n "$dut" addr add 10.78.0.1/24 dev control0
    ip -n "$tester" link set tester0 up
    ip -n "$tester" link set control0 up
    ip -n "$dut" link set port0 up
    ip -n "$dut" link set control0 up
    inside=(ip netns exec "$tester")
    device=10.78.0.1:4790
    tester_addresses=10.79.0.3/24,10.79.0.4
    ip netns exec "$dut" "$veriroce" agent --backend engine --interface port0 \
        --address 10.79.0.1 --listen "$device" --token-file "$token_file" \
        >"$folder/agent.txt" 2>&1 &
    pids+=($!)
    local turn
    for ((turn = 0; turn < 50; ++turn)); do
        "${inside[@]}" bash -c "exec 3<>/dev/tcp/${device/:/\/}" 2>/dev/null && return
        sleep 0.1
    done
}

# The lab's network and one virtual machine with the agent.
start_rxe() {
    [[ -x $agent ]] || { echo "live: $agent is not built" >&2 && exit 1; }
    lab=tests/interop/lab.sh
    export LAB_NS=${LAB_NS:-veriroce-live} LAB_MTU=${LAB_MTU:-4200}
    export LAB_LIFE=${LAB_LIFE:-$((600 + 2700 * runs))}
    export LAB_JOB_SECONDS=${LAB_JOB_SECONDS:-$LAB_LIFE}
    inside=("$lab" ns)
    device=10.77.0.1:4790
    tester_addresses=10.77.0.200/24,10.77.0.201
    "$lab" start 1
    start_agent
}

pids=() namespaces=() lab='' bridge=''
clean_up() {
    ((${#pids[@]} == 0)) || kill "${pids[@]}" 2>/dev/null || true
    local name
    for name in "${namespaces[@]}"; do ip netns del "$name" 2>/dev/null || true; done
    [[ -z $lab ]] || "$lab" stop
    rm -f "$token_file"
}
trap clean_up EXIT

# play KIND: does all runs of a kind, each with its own report.
play() {
    local run report
    for ((run = 1; run <= runs; ++run)); do
        report=$folder/$1-$run
        # Ignore the exit code if results.json was written: it says the same.
        "${inside[@]}" "$veriroce" test --dut "$device" --dut-token-file "$token_file" \
            -i tester0 --seed "$run" --quiet --tester-address "$tester_addresses" \
            "${profile[@]}" --report "$report" >"$report.txt" 2>&1 || [[ -s $report/results.json ]]
    done
}

for kind in "${kinds[@]}"; do rm -rf "$folder/$kind"-*; done
"start_$against"
for kind in "${kinds[@]}"; do
    if [[ $kind == busy ]]; then
        for ((core = 1; core < $(nproc); ++core)); do
            taskset -c "$core" bash -c 'while :; do :; done' &
            pids+=($!)
        done
    fi
    play "$kind"
done

if [[ -n $bridge ]]; then
    lost=$(ip netns exec "$bridge" nft list table bridge veriroce_loss |
        sed -n 's/.*counter packets \([0-9]*\).*/\1/p')
    echo "live: the bridge lost $lost packets"
    [[ $lost != 0 ]] || { echo "live: no packet was lost on the bridge" >&2 && exit 1; }
fi

"$veriroce" test --list --tag timing >"$folder/timing.txt"
# The cases whose known deviation does not show in every run.
awk '/^ *- case:/ { name = $3 } /^ *sometimes: true/ { print name }' \
    "${profile[1]:-/dev/null}" >"$folder/sometimes.txt"
python3 -B tests/interop/live_verdicts.py "$folder" "$runs" "${kinds[@]}"
