// The kernel's part of the bump, run on every frame of both ports (XDP). What is not RoCEv2, and
// every connection that only rules of the kernel can concern, goes to the other port at once,
// after these rules (kernel_rules.hpp); the rest goes to the process. Loaded by xdp_ports.cpp,
// which owns the maps.
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

#include "kernel_rule.hpp"

#define QUEUES 64 // of a port
#define ROCE_PORT 4791
#define ETH_P_MAC_CONTROL 0x8808
#define PRIORITY_PAUSE 0x0101
#define BTH_BYTES 12
#define ICRC_BYTES 4
#define SPLITMIX64_STEP 0x9E3779B97F4A7C15ULL // kSplitmix64Step in dissector/wire

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
    __uint(max_entries, 2);
    __type(key, __u32);
    __type(value, struct kernel_counts);
} counts SEC(".maps"); // from A, from B

struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, KERNEL_RULES);
    __type(key, __u32);
    __type(value, struct rule_set);
} ruled_qpns SEC(".maps"); // QPNs that rules name: these rules, and those that name none

const volatile __u32 ifindex_a = 0;
const volatile __u32 block_without_process = 1;
const volatile __u64 longest_silence_ns = 2000000000;
const volatile __u32 rule_count = 0;
const volatile __u32 whole_plan = 0;      // the kernel decides all rules, for all packets
// Some of them name QPNs: a bit for the last bits of each, so that most other QPs need no look-up.
const volatile __u64 named_qpns[NAMED_QPN_WORDS] = {};
const volatile __u32 takes_pfc = 0;       // rules follow PFC frames
const volatile struct rule_set by_opcode[2][256] = {};
const volatile struct rule_set any_qpn = {}; // the rules that name none
__u64 heartbeat_ns = 0; // the process writes the time here
__u64 began_ns = 0;     // when the first RoCEv2 packet came
struct kernel_rule rules[KERNEL_RULES] = {};

// A RoCEv2 packet.
struct packet {
    struct path path;
    __u32 ip_at; // from the frame's first byte
    __u8 opcode;
    __u8 v6;
    __u8 plain; // whole, with no IPv4 options: rules of the kernel can be applied
};

static __always_inline long forward(__u32 from, int roce) {
    struct kernel_counts *seen = bpf_map_lookup_elem(&counts, &from);
    if (seen) {
        ++seen->forwarded;
        if (roce) ++seen->roce;
    }
    return bpf_redirect_map(&ports, 1 - from, 0);
}

static __always_inline long drop(__u32 from) {
    struct kernel_counts *seen = bpf_map_lookup_elem(&counts, &from);
    if (seen) ++seen->dropped;
    return XDP_DROP;
}

// 0 if it is not RoCEv2.
static __always_inline int parse(struct xdp_md *context, struct packet *packet) {
    void *data = (void *)(long)context->data, *end = (void *)(long)context->data_end;
    struct path *path = &packet->path;
    struct ethhdr *ethernet = data;
    if ((void *)(ethernet + 1) > end) return 0;
    __be16 type = ethernet->h_proto;
    void *next = ethernet + 1;
    packet->ip_at = sizeof *ethernet;
    if (type == bpf_htons(ETH_P_8021Q)) {
        if (next + 4 > end) return 0;
        type = *(__be16 *)(next + 2);
        next += 4;
        packet->ip_at += 4;
    }
    struct udphdr *udp;
    __u64 ip_bytes; // by the IP header, from it on
    __u64 udp_at;
    packet->plain = 1;
    if (type == bpf_htons(ETH_P_IP)) {
        struct iphdr *ip = next;
        if ((void *)(ip + 1) > end || ip->protocol != IPPROTO_UDP) return 0;
        path->source[10] = path->source[11] = 0xFF;
        path->destination[10] = path->destination[11] = 0xFF;
        __builtin_memcpy(path->source + 12, &ip->saddr, 4);
        __builtin_memcpy(path->destination + 12, &ip->daddr, 4);
        // Fragments and options are rare: the process looks at them.
        if (ip->ihl != 5 || (ip->frag_off & bpf_htons(0x3FFF))) {
            packet->plain = 0;
            return 1;
        }
        ip_bytes = bpf_ntohs(ip->tot_len);
        udp_at = sizeof *ip;
        udp = (void *)(ip + 1);
    } else if (type == bpf_htons(ETH_P_IPV6)) {
        struct ipv6hdr *ip = next;
        if ((void *)(ip + 1) > end || ip->nexthdr != IPPROTO_UDP) return 0;
        __builtin_memcpy(path->source, &ip->saddr, 16);
        __builtin_memcpy(path->destination, &ip->daddr, 16);
        ip_bytes = sizeof *ip + bpf_ntohs(ip->payload_len);
        udp_at = sizeof *ip;
        udp = (void *)(ip + 1);
        packet->v6 = 1;
    } else {
        return 0;
    }
    if ((void *)(udp + 1) + BTH_BYTES > end || udp->dest != bpf_htons(ROCE_PORT)) return 0;
    // As find_layers() in dissector/wire: lengths that contradict each other are not RoCEv2.
    const __u64 udp_bytes = bpf_ntohs(udp->len);
    if (udp_at + udp_bytes > ip_bytes || udp_bytes < sizeof *udp + BTH_BYTES + ICRC_BYTES ||
        (data + packet->ip_at + ip_bytes > end &&
         packet->ip_at + ip_bytes > bpf_xdp_get_buff_len(context))) {
        packet->plain = 0;
    }
    const __u8 *bth = (void *)(udp + 1);
    packet->opcode = bth[0];
    path->qpn = (__u32)bth[5] << 16 | (__u32)bth[6] << 8 | bth[7];
    return 1;
}

static __always_inline int is_pfc(struct xdp_md *context) {
    struct ethhdr *ethernet = (void *)(long)context->data;
    if ((void *)(ethernet + 1) + 2 > (void *)(long)context->data_end) return 0;
    return ethernet->h_proto == bpf_htons(ETH_P_MAC_CONTROL) &&
           *(__be16 *)(ethernet + 1) == bpf_htons(PRIORITY_PAUSE);
}

// splitmix64_mix in dissector/wire.
static __always_inline __u64 mix(__u64 z) {
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
    return z ^ (z >> 31);
}

static __always_inline int same_address(const __u8 *a, const __u8 *b) {
    const __u64 *x = (const void *)a, *y = (const void *)b;
    return x[0] == y[0] && x[1] == y[1];
}

// Injector::selected, for rules without ordinals and of the packet's direction, QPN and opcode.
static __always_inline int selects(struct kernel_rule *rule, const struct packet *packet,
                                   __u64 now) {
    if (rule->has_host && !same_address(rule->host, packet->path.source) &&
        !same_address(rule->host, packet->path.destination)) {
        return 0;
    }
    const __s64 since = (__s64)(now - began_ns);
    if (since < rule->between_low || since > rule->between_high) return 0;
    const __u64 selected = __sync_fetch_and_add(&rule->selected, 1) + 1;
    if (rule->every > 1 && selected % rule->every) return 0;
    if (rule->draws) {
        const __u64 state = __sync_fetch_and_add(&rule->random, SPLITMIX64_STEP);
        if (mix(state + SPLITMIX64_STEP) >> 11 >= rule->below) return 0;
    }
    if (rule->interval_ns && rule->last_fired_ns &&
        (__s64)(now - rule->last_fired_ns) < (__s64)rule->interval_ns) {
        return 0;
    }
    return rule->fired < rule->first;
}

static __always_inline __u16 folded(__u32 sum) {
    sum = (sum & 0xFFFF) + (sum >> 16);
    return (sum & 0xFFFF) + (sum >> 16);
}

static __always_inline int mark_ce(struct xdp_md *context, const struct packet *packet) {
    void *data = (void *)(long)context->data, *end = (void *)(long)context->data_end;
    if (packet->ip_at > 18) return 0;
    void *ip = data + packet->ip_at;
    if (packet->v6) {
        __u8 *bytes = ip;
        if (bytes + 2 > (__u8 *)end) return 0;
        bytes[1] |= 0x30; // the two last bits of the traffic class
        return 1;
    }
    struct iphdr *header = ip;
    if ((void *)(header + 1) > end) return 0;
    header->tos |= 3;
    header->check = 0;
    __u32 sum = 0;
    const __u16 *words = ip;
    for (int i = 0; i < 10; ++i) sum += words[i];
    header->check = ~folded(sum);
    return 1;
}

// Turns bits over; a UDP checksum that was used becomes right again.
static __always_inline int corrupt(struct xdp_md *context, const struct packet *packet,
                                   const struct kernel_rule *rule, __u64 length) {
    const __u32 at = packet->ip_at + rule->offset;
    const __u32 word_at = packet->ip_at + (rule->offset & ~1U);
    if (at >= length) return 0;
    __u8 word[2] = {0, 0};
    const __u32 bytes = word_at + 2 <= length ? 2 : 1;
    if (bytes == 2 ? bpf_xdp_load_bytes(context, word_at, word, 2)
                   : bpf_xdp_load_bytes(context, word_at, word, 1)) {
        return 0;
    }
    const __u32 before = (__u32)word[0] << 8 | word[1];
    if (rule->offset & 1) word[1] ^= rule->mask;
    else word[0] ^= rule->mask;
    const __u32 after = (__u32)word[0] << 8 | word[1];
    if (bytes == 2 ? bpf_xdp_store_bytes(context, word_at, word, 2)
                   : bpf_xdp_store_bytes(context, word_at, word, 1)) {
        return 0;
    }
    const __u32 check_at = packet->ip_at + (packet->v6 ? 40 : 20) + 6;
    __u8 check[2];
    if (bpf_xdp_load_bytes(context, check_at, check, 2)) return 1;
    const __u32 old = (__u32)check[0] << 8 | check[1];
    if (old == 0) return 1;
    __u16 fresh = ~folded((~old & 0xFFFF) + (~before & 0xFFFF) + after);
    if (fresh == 0) fresh = 0xFFFF;
    check[0] = fresh >> 8;
    check[1] = fresh & 0xFF;
    bpf_xdp_store_bytes(context, check_at, check, 2);
    return 1;
}

// The rules that may select the packet. Whether there are any.
static __always_inline int candidates(const struct packet *packet, __u32 from,
                                      struct rule_set *set) {
    const __u32 qpn = packet->path.qpn;
    const int may_be_named = named_qpns[qpn / 64 % NAMED_QPN_WORDS] >> (qpn % 64) & 1;
    const struct rule_set *named =
        may_be_named ? bpf_map_lookup_elem(&ruled_qpns, &packet->path.qpn) : 0;
    const volatile struct rule_set *of_opcode = &by_opcode[from & 1][packet->opcode];
    __u64 any = 0;
    for (int i = 0; i < RULE_SET_WORDS; ++i) {
        set->words[i] = of_opcode->words[i] & (named ? named->words[i] : any_qpn.words[i]);
        any |= set->words[i];
    }
    return any != 0;
}

// The lowest bit that is set, by a de Bruijn sequence: BPF has no instruction for it, and each
// branch would be another path for the verifier.
#define DE_BRUIJN 0x03F79D71B4CB0A89ULL
static const __u8 place_of[64] = {
    0, 1, 48, 2, 57, 49, 28, 3, 61, 58, 50, 42, 38, 29, 17, 4,
    62, 55, 59, 36, 53, 51, 43, 22, 45, 39, 33, 30, 24, 18, 12, 5,
    63, 47, 56, 27, 60, 41, 37, 16, 54, 35, 52, 21, 44, 32, 23, 11,
    46, 26, 40, 15, 34, 20, 31, 10, 25, 14, 19, 9, 13, 8, 7, 6,
};
static __always_inline __u32 lowest(__u64 bits) {
    return place_of[((bits & -bits) * DE_BRUIJN) >> 58];
}

// The rules that a packet meets, on their way.
struct turn {
    struct xdp_md *context;
    struct packet packet;
    struct rule_set set;
    __u64 length;
    __u64 now;
    __u32 word;
    int more;
    int gone;
};

// The next candidate, or the next word of them. Whether that was the last.
static long turn(__u32 number, void *state) {
    (void)number;
    struct turn *turn = state;
    const __u32 word = turn->word;
    if (word >= RULE_SET_WORDS) return 1;
    const __u64 bits = turn->set.words[word];
    if (!bits) {
        turn->word = word + 1;
        return 0;
    }
    turn->set.words[word] = bits & (bits - 1);
    struct kernel_rule *rule = &rules[(word * 64 + lowest(bits)) & (KERNEL_RULES - 1)];
    // Every rule counts and draws, even if an earlier rule has acted.
    if (!selects(rule, &turn->packet, turn->now) || !turn->more) return 0;
    int done = 0;
    if (rule->action == KERNEL_DROP) done = turn->gone = 1;
    else if (turn->gone) done = 0;
    else if (rule->action == KERNEL_MARK_CE) done = mark_ce(turn->context, &turn->packet);
    else done = corrupt(turn->context, &turn->packet, rule, turn->length);
    if (!done) return 0;
    __sync_fetch_and_add(&rule->fired, 1);
    rule->last_fired_ns = turn->now;
    turn->more = rule->also;
    return 0;
}

// Injector::apply_rules. Whether the packet is still there. A plain loop is more than the verifier
// follows.
static __always_inline int apply_rules(struct turn *state) {
    bpf_loop(KERNEL_RULES + RULE_SET_WORDS, turn, state, 0);
    return !state->gone;
}

static __always_inline int decide(struct xdp_md *context, const struct packet *packet,
                                  __u32 from) {
    if (!rule_count) return forward(from, 1);
    if (!began_ns) __sync_val_compare_and_swap(&began_ns, 0, bpf_ktime_get_ns());
    struct rule_set set;
    if (!candidates(packet, from, &set)) return forward(from, 1);
    struct turn state = {.context = context,
                         .packet = *packet,
                         .set = set,
                         .length = bpf_xdp_get_buff_len(context),
                         .now = bpf_ktime_get_ns(),
                         .more = 1};
    return apply_rules(&state) ? forward(from, 1) : drop(from);
}

SEC("xdp.frags")
int bump(struct xdp_md *context) {
    // Read once each: the verifier does not follow what the compiler would make of the context.
    volatile __u32 ingress = context->ingress_ifindex;
    volatile __u32 queue = context->rx_queue_index;
    const __u32 from = ingress == ifindex_a ? 0 : 1;
    struct packet packet = {};
    const int roce = parse(context, &packet);
    if (!roce && !(takes_pfc && is_pfc(context))) return forward(from, 0);
    __u32 socket = from * QUEUES + queue;
    // Of the last tick, which costs less than the exact time. Signed: the process may have written
    // a later one.
    const __s64 silence = (__s64)(bpf_ktime_get_coarse_ns() - heartbeat_ns);
    if (silence >= (__s64)longest_silence_ns || queue >= QUEUES ||
        !bpf_map_lookup_elem(&sockets, &socket)) {
        return roce && block_without_process ? XDP_DROP : forward(from, roce);
    }
    if (roce && packet.plain && (whole_plan || bpf_map_lookup_elem(&unconcerned, &packet.path))) {
        return decide(context, &packet, from);
    }
    return bpf_redirect_map(&sockets, socket, 0);
}

char _license[] SEC("license") = "Apache-2.0";
