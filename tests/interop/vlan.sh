# shellcheck shell=bash
# Sourced by run.sh: the cases that need a VLAN. The guest gets an interface in the VLAN, which
# gives rxe a GID in it; the agent reports the GID when the tester connects. Needs $lab, $veriroce,
# $device, $token_file, attempt and fail.

run_vlan() {
    echo "interop: in VLAN 77"
    "$lab" exec 1 "modprobe 8021q && ip link add link eth0 name eth0.77 type vlan id 77 &&
        ip addr add 10.78.0.1/24 dev eth0.77 && ip addr add fd78::1/64 dev eth0.77 nodad &&
        ip link set eth0.77 up" || { fail "cannot create a VLAN interface in the guest" && return; }
    local text=$report/vlan.txt
    attempt "$lab" ns timeout -k 5 120 "$veriroce" test enc/priority-tag n/vlan-both-ways \
        n/vlan-membership --dut "$device" --dut-token-file "$token_file" -i tester0 \
        --over ip=4,6 \
        --tester-address 10.77.0.200/24,10.78.0.200/24,fd77::200/64,fd78::200/64
    cp "$report/attempt.txt" "$text"
    # Without the GID the cases would be SKIP.
    grep -q '^6 passed, 0 failed, 0 skipped' "$text" || { cat "$text" >&2 && fail "VLAN 77"; }
    "$lab" exec 1 "ip link del eth0.77"
}
