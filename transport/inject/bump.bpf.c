// The kernel's part of the bump, run on every frame of both ports (XDP). What is not RoCEv2, and
// every connection that no rule can concern, goes to the other port at once; the rest goes to the
// process. Loaded by xdp_ports.cpp, which owns the maps.
//
// It reads only the headers, which are in the first piece of a frame however long it is.
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/udp.h>

#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#define QUEUES 64 // of a port
#define ROCE_PORT 4791
#define BTH_BYTES 12

// The packets from one address to one QP of another; IPv4 in its mapped form.
struct path {
    __u8 source[16];
    __u8 destination[16];
    __u32 qpn;
};

struct {
    __uint(type, BPF_MAP_TYPE_DEVMAP);
    __uint(max_entries, 2);
    __type(key, __u32);
    __type(value, __u32);
} ports SEC(".maps"); // 0: A, 1: B

struct {
    __uint(type, BPF_MAP_TYPE_XSKMAP);
    __uint(max_entries, 2 * QUEUES);
    __type(key, __u32);
    __type(value, __u32);
} sockets SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, 65536);
    __type(key, struct path);
    __type(value, __u8);
} unconcerned SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    __uint(max_entries, 4);
    __type(key, __u32);
    __type(value, __u64);
} counts SEC(".maps"); // forwarded here: from A, from B; RoCEv2 of them: from A, from B

const volatile __u32 ifindex_a = 0;
const volatile __u32 block_without_process = 1;
const volatile __u64 longest_silence_ns = 2000000000;
__u64 heartbeat_ns = 0; // the process writes the time here

static __always_inline void count(__u32 at) {
    __u64 *value = bpf_map_lookup_elem(&counts, &at);
    if (value) ++*value;
}

static __always_inline long forward(__u32 from, int roce) {
    count(from);
    if (roce) count(2 + from);
    return bpf_redirect_map(&ports, 1 - from, 0);
}

// 0 if it is not RoCEv2.
static __always_inline int parse(void *data, void *end, struct path *path) {
    struct ethhdr *ethernet = data;
    if ((void *)(ethernet + 1) > end) return 0;
    __be16 type = ethernet->h_proto;
    void *next = ethernet + 1;
    if (type == bpf_htons(ETH_P_8021Q)) {
        if (next + 4 > end) return 0;
        type = *(__be16 *)(next + 2);
        next += 4;
    }
    struct udphdr *udp;
    if (type == bpf_htons(ETH_P_IP)) {
        struct iphdr *ip = next;
        if ((void *)(ip + 1) > end || ip->protocol != IPPROTO_UDP) return 0;
        // Fragments and options are rare: the process looks at them.
        __builtin_memset(path, 0, sizeof *path);
        path->source[10] = path->source[11] = 0xFF;
        path->destination[10] = path->destination[11] = 0xFF;
        __builtin_memcpy(path->source + 12, &ip->saddr, 4);
        __builtin_memcpy(path->destination + 12, &ip->daddr, 4);
        if (ip->ihl != 5) return 1;
        udp = (void *)(ip + 1);
    } else if (type == bpf_htons(ETH_P_IPV6)) {
        struct ipv6hdr *ip = next;
        if ((void *)(ip + 1) > end || ip->nexthdr != IPPROTO_UDP) return 0;
        __builtin_memcpy(path->source, &ip->saddr, 16);
        __builtin_memcpy(path->destination, &ip->daddr, 16);
        udp = (void *)(ip + 1);
    } else {
        return 0;
    }
    if ((void *)(udp + 1) + BTH_BYTES > end || udp->dest != bpf_htons(ROCE_PORT)) return 0;
    const __u8 *bth = (void *)(udp + 1);
    path->qpn = (__u32)bth[5] << 16 | (__u32)bth[6] << 8 | bth[7];
    return 1;
}

SEC("xdp.frags")
int bump(struct xdp_md *context) {
    // Read once each: the verifier does not follow what the compiler would make of the context.
    volatile __u32 ingress = context->ingress_ifindex;
    volatile __u32 queue = context->rx_queue_index;
    const __u32 from = ingress == ifindex_a ? 0 : 1;
    struct path path = {};
    const int roce = parse((void *)(long)context->data, (void *)(long)context->data_end, &path);
    if (!roce) return forward(from, 0);
    if (bpf_map_lookup_elem(&unconcerned, &path)) return forward(from, 1);
    __u32 socket = from * QUEUES + queue;
    // Signed: the other processor may have written a later time than ours.
    const __s64 silence = (__s64)(bpf_ktime_get_ns() - heartbeat_ns);
    const int alive = silence < (__s64)longest_silence_ns;
    if (alive && queue < QUEUES && bpf_map_lookup_elem(&sockets, &socket)) {
        return bpf_redirect_map(&sockets, socket, 0);
    }
    return block_without_process ? XDP_DROP : forward(from, 1);
}

char _license[] SEC("license") = "Apache-2.0";
