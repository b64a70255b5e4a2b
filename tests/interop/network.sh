# shellcheck shell=bash
# Sourced by run.sh: makes the network between the two ends bad, and good again. Needs $lab and
# fail.

# Drops 5 % of all RoCEv2 packets on the bridge, in both directions.
lose_packets() {
    "$lab" ns nft -f - <<'NFT'
table bridge veriroce_loss {
    chain forward {
        type filter hook forward priority 0;
        udp dport 4791 numgen random mod 100 < 5 counter drop
    }
}
NFT
}

# Fails if no packet was lost: then the run tested nothing.
lose_no_more() {
    local lost
    lost=$("$lab" ns nft list table bridge veriroce_loss |
        sed -n 's/.*counter packets \([0-9]*\).*/\1/p')
    "$lab" ns nft delete table bridge veriroce_loss
    echo "interop: $lost packets were lost on the bridge"
    [[ $lost != 0 ]] || fail "no packet was lost on the bridge"
}

# Delays, duplicates and reorders what the guest sends.
disorder_packets() {
    "$lab" exec 1 "modprobe sch_netem && tc qdisc add dev eth0 root netem \
        delay 2ms duplicate 5% reorder 10% 50%"
}
order_packets() { "$lab" exec 1 "tc qdisc del dev eth0 root"; }
