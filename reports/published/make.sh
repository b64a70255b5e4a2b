#!/usr/bin/env bash
# Makes the published reports of devices, which it plays or whose reports exist, and the matrix over
# all of them.
#   make.sh [DEVICE]...   where DEVICE is one of
#     linux-rxe-VERSION            plays the suite and the data sheet on that kernel, as
#                                  tests/interop/kernels.sh does, with its KERNELS_VMS
#     NAME@COMMAND                 the same on a device in user space: COMMAND starts its agent, as
#                                  tests/interop/userspace.sh says, whose settings are obeyed, too
#     NAME=FOLDER[,FOLDER...]      takes reports of `veriroce test --report` of one device: shards,
#                                  repetitions, its data sheet
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

# play_kernel NAME VERSION, play_userspace NAME COMMAND: both play the suite and the data sheet.
play_kernel() {
    for part in suite sheet; do
        local args=()
        [[ $part == suite ]] || args=(--data-sheet --slow)
        (cd "$root" &&
            KERNELS_REPORT=$work/$1-played/$part tests/interop/kernels.sh "$2" "${args[@]}")
    done
    publish "$1" "$work/$1-played"/{suite,sheet}/*/all
}
play_userspace() {
    for part in suite sheet; do
        local args=(--over ip=4)
        [[ $part == suite ]] || args+=(--data-sheet --slow)
        "$root/tests/interop/userspace.sh" "$work/$1-played/$part" "$2" "${args[@]}"
    done
    publish "$1" "$work/$1-played"/{suite,sheet}/[0-9]*
}

for device in "$@"; do
    name=${device%%[=@]*}
    case ${device#"$name"} in
    =*)
        IFS=, read -ra folders <<<"${device#*=}"
        for folder in "${folders[@]}"; do
            [[ $folder == /* ]] ||
                { echo "published: expected a whole path, got $folder" >&2 && exit 2; }
        done
        publish "$name" "${folders[@]}"
        ;;
    @*) play_userspace "$name" "${device#*@}" ;;
    *)
        [[ $device == linux-rxe-* ]] ||
            { echo "published: expected linux-rxe-VERSION, got $device" >&2 && exit 2; }
        play_kernel "$device" "${device#linux-rxe-}"
        ;;
    esac
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
