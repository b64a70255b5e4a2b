#!/usr/bin/env bash
# Whether verdicts hold on a live wire: all cases, over and over, against the built-in engine behind
# an agent on raw frames, at the other end of a veth pair. First with the machine to itself, then
# with every core but one kept busy. Needs root; nothing of the host's network is touched.
#
#   live.sh [RUNS] [FOLDER]   RUNS of each kind (20); reports go to FOLDER (build/live)
#
# Exit codes: 0 no FAIL, no WARN, and ERROR only in cases tagged `timing`; 1 otherwise.
set -euo pipefail
cd "$(dirname "$0")/../.."
runs=${1:-20}
folder=${2:-build/live}
veriroce=${VERIROCE:-build/release/veriroce}
[[ -x $veriroce ]] || { echo "live: $veriroce is not built" >&2 && exit 1; }

dut=veriroce-live-dut-$$
tester=veriroce-live-tester-$$
pids=()
clean_up() {
    ((${#pids[@]} == 0)) || kill "${pids[@]}" 2>/dev/null || true
    ip netns del "$tester" 2>/dev/null || true
    ip netns del "$dut" 2>/dev/null || true
    rm -f "$folder/token"
}
trap clean_up EXIT

mkdir -p "$folder"
(umask 077 && od -An -N16 -tx1 /dev/urandom | tr -d ' \n' >"$folder/token")
ip netns add "$dut"
ip netns add "$tester"
# One wire to test, another for the agent's contract.
ip -n "$tester" link add tester0 mtu 4500 type veth peer name port0 mtu 4500 netns "$dut"
ip -n "$tester" link add control0 type veth peer name control0 netns "$dut"
ip -n "$tester" addr add 10.79.0.2/24 dev tester0
ip -n "$tester" addr add 10.78.0.2/24 dev control0
ip -n "$dut" addr add 10.78.0.1/24 dev control0
ip -n "$tester" link set tester0 up
ip -n "$tester" link set control0 up
ip -n "$dut" link set port0 up
ip -n "$dut" link set control0 up

ip netns exec "$dut" "$veriroce" agent --backend engine --interface port0 --address 10.79.0.1 \
    --listen 10.78.0.1:4790 --token-file "$folder/token" >"$folder/agent.txt" 2>&1 &
pids+=($!)
for ((turn = 0; turn < 50; ++turn)); do
    ip netns exec "$tester" bash -c 'exec 3<>/dev/tcp/10.78.0.1/4790' 2>/dev/null && break
    sleep 0.1
done

# play KIND: all runs of a kind, each with its own report.
play() {
    local run
    for ((run = 1; run <= runs; ++run)); do
        # Its exit code says what results.json says, if that was written.
        ip netns exec "$tester" "$veriroce" test --dut 10.78.0.1:4790 \
            --dut-token-file "$folder/token" -i tester0 --seed "$run" --quiet \
            --tester-address 10.79.0.3/24,10.79.0.4 --report "$folder/$1-$run" \
            >"$folder/$1-$run.txt" 2>&1 || [[ -s $folder/$1-$run/results.json ]]
    done
}

rm -rf "$folder"/{idle,busy}-*
play idle
for ((core = 1; core < $(nproc); ++core)); do
    taskset -c "$core" bash -c 'while :; do :; done' &
    pids+=($!)
done
play busy

"$veriroce" test --list --tag timing >"$folder/timing.txt"
python3 -B - "$folder" "$runs" <<'PYTHON'
import collections
import json
import sys

folder, runs = sys.argv[1], int(sys.argv[2])
with open(f"{folder}/timing.txt", encoding="utf-8") as file:
    timing = {line.split()[0] for line in file if line.split()}
wrong = []
for kind in ("idle", "busy"):
    verdicts = collections.Counter()
    seconds = []
    for run in range(1, runs + 1):
        with open(f"{folder}/{kind}-{run}/results.json", encoding="utf-8") as file:
            results = json.load(file)
        seconds.append(results["timing"]["wall_ns"] / 1e9)
        for case in results["cases"]:
            verdict = case["verdict"]
            verdicts[verdict] += 1
            allowed = verdict in ("PASS", "SKIP") or verdict == "ERROR" and case["id"] in timing
            if not allowed:
                wrong.append(f"{kind} {run}: {verdict} {case['id']}: {case['reason']}")
    judged = sum(verdicts.values()) - verdicts["SKIP"]
    counts = ", ".join(f"{count} {verdict}" for verdict, count in sorted(verdicts.items()))
    print(f"{kind}: {runs} runs of {sorted(seconds)[runs // 2]:.1f} s (median): {counts}; "
          f"ERROR {100 * verdicts['ERROR'] / judged:.3f} %")
for line in wrong:
    print("live:", line)
sys.exit(1 if wrong else 0)
PYTHON
