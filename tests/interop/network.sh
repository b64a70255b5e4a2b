# shellcheck shell=bash
# Sourced by run.sh: the network between the two ends made bad, and good again. Wants $lab and fail.

# 5 % of all RoCEv2 packets on the bridge, both ways.
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

# A loss that lost nothing has tested nothing.
lose_no_more() {
    local lost
    lost=$("$lab" ns nft list table bridge veriroce_loss |
        sed -n 's/.*counter packets \([0-9]*\).*/\1/p')
    "$lab" ns nft delete table bridge veriroce_loss
    echo "interop: $lost packets were lost on the bridge"
    [[ $lost != 0 ]] || fail "nothing was lost on the bridge"
}

# What the guest sends is late, comes twice or out of order.
disorder_packets() {
    "$lab" exec 1 "modprobe sch_netem && tc qdisc add dev eth0 root netem \
        delay 2ms duplicate 5% reorder 10% 50%"
}
order_packets() { "$lab" exec 1 "tc qdisc del dev eth0 root"; }
