#!/usr/bin/env bash
# Plays all cases against rxe of several kernels, each in shards on virtual machines of its own, and
# brings a machine back whose kernel a case crashed.
#   kernels.sh VERSION[,VERSION...] [ARGS...]   passes ARGS to `veriroce test`; without ARGS it
#                                               plays --over ip=4, and not the three cases that
#                                               crash every kernel
#   kernels.sh FILE [ARGS...]       a kernel of your own: .deb files or a bzImage, as in LAB_KERNEL
#   KERNELS_VMS (3)                 how many virtual machines play at a time, one shard each
#   KERNELS_REPORT (build/kernels)  VERSION/all gets the report of all shards; VERSION/I that of
#                                   shard I, its capture run.pcapng and the consoles of kernels that
#                                   died (dead-1.log)
#   KERNELS_SECONDS (2400)          the time limit of a shard
# Exit codes: 0 every kernel was played to its end, 1 not, 3 the virtual machines do not work here.
set -euo pipefail
cd "$(dirname "$0")/../.."
script=tests/interop/kernels.sh
lab=tests/interop/lab.sh
veriroce=${VERIROCE:-build/release/veriroce}
# shellcheck disable=SC2034 # guest_agent.sh reads it
agent=build/release/veriroce-agent
device=10.77.0.1:4790
seconds=${KERNELS_SECONDS:-2400}
# shellcheck source=tests/interop/guest_agent.sh
source tests/interop/guest_agent.sh

# What --dut-reset calls, in the environment of play_shard.
if [[ ${1:-} == --revive ]]; then
    token_file=$KERNELS_SHARD/token
    dead=1
    while [[ -e $KERNELS_SHARD/dead-$dead.log ]]; do dead=$((dead + 1)); done
    "$lab" console 1 >"$KERNELS_SHARD/dead-$dead.log"
    "$lab" restart 1
    start_agent
    exit
fi

[[ $# != 0 ]] || { sed -n '2,/^set/{/^set/d; s/^# \{0,1\}//; p}' "$0" && exit 2; }
[[ $(id -u) == 0 ]] || { echo "kernels: needs root" >&2 && exit 3; }
if [[ $1 == */* ]]; then kernels=("$1"); else IFS=, read -ra kernels <<<"$1"; fi
shift
[[ $# != 0 ]] || set -- --over ip=4 --exclude bth/truncated-options --exclude enc/host-address \
    --exclude key/invalidate-twice
shards=${KERNELS_VMS:-3}
report=${KERNELS_REPORT:-build/kernels}

play_shard() { # KERNEL NAME I ARGS...
    local kernel=$1 name=$2 i=$3 code=0
    shift 3
    export KERNELS_SHARD=$report/$name/$i
    rm -rf "$KERNELS_SHARD"
    mkdir -p "$KERNELS_SHARD"
    export LAB_KERNEL=$kernel LAB_NS=kernels-$name-$i LAB_MTU=${LAB_MTU:-4200}
    export LAB_LIFE=$((seconds + 120)) LAB_JOB_SECONDS=$((seconds + 120))
    trap '"$lab" stop; rm -f "$token_file"' EXIT
    # shellcheck disable=SC2034 # guest_agent.sh reads it
    token_file=$KERNELS_SHARD/token
    new_token "$token_file"
    "$lab" start 1
    start_agent
    "$lab" exec 1 "uname -r" >"$KERNELS_SHARD/uname.txt"
    "$lab" ns timeout -k 5 "$seconds" "$veriroce" test --dut "$device" \
        --dut-token-file "$token_file" -i tester0 --shard "$i/$shards" \
        --tester-address 10.77.0.200/24,10.77.0.201/24,fd77::200/64,fd77::201/64 \
        --profile conformance/profiles/linux-rxe.yaml --dut-reset "$script --revive" \
        --report "$KERNELS_SHARD" --capture "$KERNELS_SHARD/run.pcapng" "$@" \
        >"$KERNELS_SHARD/console.txt" 2>&1 || code=$?
    echo "kernels: $name, shard $i: exit code $code; $(tail -n 1 "$KERNELS_SHARD/console.txt")"
    # 1: something failed; 3: a run ended with ERROR, or the tester could not go on.
    [[ $code == [013] ]] && ! grep -q 'were not played' "$KERNELS_SHARD/console.txt"
}

complete=yes
for kernel in "${kernels[@]}"; do
    name=$(basename "${kernel%%,*}")
    LAB_KERNEL=$kernel "$lab" build
    jobs=()
    for ((i = 1; i <= shards; ++i)); do
        (play_shard "$kernel" "$name" "$i" "$@") &
        jobs+=($!)
    done
    for job in "${jobs[@]}"; do wait "$job" || complete=no; done
    folders=()
    for ((i = 1; i <= shards; ++i)); do
        [[ ! -s $report/$name/$i/results.json ]] || folders+=("$report/$name/$i")
    done
    [[ ${#folders[@]} != 0 ]] || { echo "kernels: $name: no shard played" >&2 && exit 3; }
    rm -rf "$report/$name/all"
    "$veriroce" report merge "${folders[@]}" -o "$report/$name/all"
done
[[ $complete == yes ]]
