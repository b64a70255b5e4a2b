# shellcheck shell=bash
# Sourced by run.sh: rxe and our engine, each behind an agent, exchange WRITEs, READs, SENDs and
# atomics. Needs $lab, $veriroce, $report, $device, $token_file, LAB_MTU, attempt and the functions
# of network.sh.

run_peers() {
    echo "interop: rxe and our engine, each behind an agent"
    local socket=$report/engine.sock mtu version pid turns=0
    "$lab" ns timeout -k 5 300 "$veriroce" agent --backend engine --interface tester0 \
        --listen "unix:$socket" 2>"$report/engine-agent.txt" &
    pid=$!
    until [[ -S $socket ]]; do
        ((turns++ < 50)) || {
            cat "$report/engine-agent.txt" >&2
            fail "the engine's agent does not start"
            return
        }
        sleep 0.1
    done
    local peers=("$lab" ns timeout -k 5 100 build/release/interop_peers
        "$device" "$token_file" "unix:$socket" "$token_file")
    for version in 4 6; do
        for mtu in 256 512 1024 2048 4096; do
            ((mtu + 84 > LAB_MTU)) || attempt "${peers[@]}" "$version" "$mtu"
        done
    done
    lose_packets
    attempt "${peers[@]}" 4 1024
    lose_no_more
    disorder_packets
    attempt "${peers[@]}" 6 1024
    order_packets
    kill "$pid"
    wait "$pid" || true
}
