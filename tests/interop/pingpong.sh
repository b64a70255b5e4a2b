# shellcheck shell=bash
# Sourced by run.sh: `veriroce serve` and `veriroce ping` against ibv_rc_pingpong on rxe in the
# virtual machine. Needs $lab, $veriroce, LAB_MTU, attempt and the functions of network.sh.
#
# ping compares every byte that comes back. The guest's program compares nothing; the tests with two
# veriroce programs compare what serve sends back.

vm=10.77.0.1
vm_v6=fd77::1
host=10.77.0.254
rounds=100

# guest_gid IP-VERSION: the index of the guest's GID, for ibv_rc_pingpong.
guest_gid() { [[ $1 == 4 ]] && echo 1 || echo 2; }

# ping_guest IP-VERSION MTU SIZE OURS...: the guest serves.
ping_guest() {
    local version=$1 mtu=$2 size=$3 job
    shift 3
    job=$("$lab" bg 1 "timeout 60 ibv_rc_pingpong -d rxe0 -g $(guest_gid "$version") \
        -n $rounds -m $mtu -s $size")
    until_guest_listens || return 1
    "$lab" ns timeout -k 5 60 "$veriroce" ping "$vm" -n $rounds -m "$mtu" -s "$size" "$@" &&
        "$lab" wait 1 "$job" 30 >/dev/null
}

until_guest_listens() {
    local turns=0
    until "$lab" exec 1 "ss -ltn | grep -q ':18515 '"; do
        ((turns++ < 50)) || return 1
        sleep 0.1
    done
}

# serve_guest IP-VERSION MTU SIZE OURS...: the guest pings.
serve_guest() {
    local version=$1 mtu=$2 size=$3 code=0 pid turns=0
    shift 3
    # The exchange is over IPv4, so the guest's IPv6 GID is not the address that it came from.
    "$lab" ns timeout -k 5 60 "$veriroce" serve --once -n $rounds -m "$mtu" -s "$size" \
        --allow-gid "$vm_v6" "$@" &
    pid=$!
    until "$lab" ns ss -ltn | grep -q ':18515 '; do
        ((turns++ < 50)) || break
        sleep 0.1
    done
    "$lab" exec 1 "timeout 60 ibv_rc_pingpong -d rxe0 -g $(guest_gid "$version") \
        -n $rounds -m $mtu -s $size $host" >/dev/null || code=$?
    wait "$pid" && [[ $code == 0 ]]
}

run_pingpong() {
    echo "interop: serve and ping with ibv_rc_pingpong"
    local mtu version own extra size before=$passes
    for version in 4 6; do
        own=$([[ $version == 4 ]] && echo 10.77.0.254 || echo fd77::fe)
        extra=$([[ $version == 4 ]] && echo 10.77.0.200 || echo fd77::200)
        for mtu in 256 512 1024 2048 4096; do
            ((mtu + 84 <= LAB_MTU)) || continue
            size=$((3 * mtu + 1))
            attempt ping_guest "$version" "$mtu" "$size" -i tester0 --address "$extra" \
                --psn 0xFFFFF0
            attempt serve_guest "$version" "$mtu" "$size" -i tester0 --address "$extra"
        done
        attempt ping_guest "$version" 1024 4096 --address "$own"
        attempt serve_guest "$version" 1024 4096 --address "$own"
    done
    lose_packets
    attempt ping_guest 4 1024 10000 -i tester0
    attempt serve_guest 6 1024 10000 -i tester0 --address fd77::200
    lose_no_more
    disorder_packets
    attempt ping_guest 4 1024 10000 -i tester0
    attempt serve_guest 6 1024 10000 -i tester0 --address fd77::200
    order_packets
    echo "interop: serve and ping: $((passes - before)) runs of $rounds round trips each"
}
