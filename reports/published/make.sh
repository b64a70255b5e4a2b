#!/usr/bin/env bash
# Makes the published reports: the built-in engine, devices whose reports exist, and the matrix over
# all of them.
#   make.sh [NAME=FOLDER[,FOLDER...]]...   FOLDERs are reports of `veriroce test --report` of one
#                                          device: shards, repetitions, its data sheet
# What is published of a device that is not named stays. The built-in engine is played, unless it is
# named. Needs build/release/veriroce.
set -euo pipefail
cd "$(dirname "$0")/../.."
root=$PWD
veriroce=${VERIROCE:-$root/build/release/veriroce}
[[ -x $veriroce ]] || { echo "published: $veriroce is not built" >&2 && exit 1; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" # so that notes name the parts, not folders of this machine

# publish NAME FOLDER...: without names of hosts, addresses of agents and paths.
publish() {
    local name=$1 parts=() folder
    shift
    for folder in "$@"; do
        parts+=("$name-$((${#parts[@]} + 1))")
        mkdir "${parts[-1]}"
        sed -E -e 's#(--dut|--dut-token-file|-i|--tester-address|--profile) [^ "]+ ?##g' \
            -e "s#--dut-reset '([^']|'\\\\\\\\'')*' ?##g" \
            -e 's#unix:/[^ ";]+#the agent#g' -e "s#/[^ \"']*/userspace.sh#userspace.sh#g" \
            -e 's#("dut": ".*) at [^ "]+"#\1"#' -e 's#("host": ")[^,"]*, #\1#' \
            "$folder/results.json" >"${parts[-1]}/results.json"
    done
    "$veriroce" report merge --brief "${parts[@]}" -o "new-$name"
    gzip -9n "new-$name/results.json"
    mkdir -p "$root/reports/published/$name"
    mv "new-$name"/{results.json.gz,report.html,report.md} "$root/reports/published/$name/"
}

for device in "$@"; do
    [[ $device == *=* ]] || { echo "published: expected NAME=FOLDER, got $device" >&2 && exit 2; }
    IFS=, read -ra folders <<<"${device#*=}"
    for folder in "${folders[@]}"; do
        [[ $folder == /* ]] || { echo "published: expected a whole path, got $folder" >&2; exit 2; }
    done
    publish "${device%%=*}" "${folders[@]}"
done
if [[ " $*" != *" built-in-engine="* ]]; then
    "$veriroce" test -q --slow --report "$work/suite" >console.txt
    "$veriroce" test -q --data-sheet --slow --report "$work/sheet" >>console.txt
    publish built-in-engine "$work/suite" "$work/sheet"
fi

mkdir devices
cd devices
devices=()
for results in "$root"/reports/published/*/results.json.gz; do
    device=$(basename "$(dirname "$results")")
    devices+=("$device")
    mkdir "$device"
    gunzip -c "$results" >"$device/results.json"
done
for format in html markdown; do
    [[ $format == html ]] && file=matrix.html || file=matrix.md
    "$veriroce" report matrix "${devices[@]}" --format "$format" \
        -o "$root/reports/published/$file"
done
