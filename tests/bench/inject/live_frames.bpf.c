// Programs in the kernel for bench_inject: one that sends, one that counts what arrives
// (live_frames.cpp), and the two forwarders that the bump is held against (forwarders.cpp).
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

#include "live_difference.hpp"

struct {
    __uint(type, BPF_MAP_TYPE_DEVMAP);
    __uint(max_entries, 1);
    __type(key, __u32);
    __type(value, __u32);
} port SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_XSKMAP);
    __uint(max_entries, 1);
    __type(key, __u32);
    __type(value, __u32);
} sockets SEC(".maps");

const volatile __u32 send_to = 0; // an interface
const volatile __u32 psn_at = 0;  // places in the frame
const volatile __u32 icrc_at = 0;
struct live_difference differences[LIVE_FRAMES] = {};
__u64 sent = 0;    // by one core
__u64 arrived = 0; // on one core

// The frames differ in PSN and ICRC, as those of a real sender.
SEC("xdp")
int send(struct xdp_md* context) {
    const struct live_difference* is = &differences[sent++ & (LIVE_FRAMES - 1)];
    bpf_xdp_store_bytes(context, psn_at, (void*)is->psn, sizeof is->psn);
    bpf_xdp_store_bytes(context, icrc_at, (void*)is->icrc, sizeof is->icrc);
    return bpf_redirect(send_to, 0);
}

SEC("xdp")
int arrive(struct xdp_md* context) {
    (void)context;
    ++arrived;
    return XDP_DROP;
}

SEC("xdp")
int bare_redirect(struct xdp_md* context) {
    (void)context;
    return bpf_redirect_map(&port, 0, 0);
}

SEC("xdp")
int bare_socket(struct xdp_md* context) {
    (void)context;
    return bpf_redirect_map(&sockets, 0, XDP_DROP);
}

char _license[] SEC("license") = "Apache-2.0";
