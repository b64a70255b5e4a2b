// A fault rule as the program in the kernel (bump.bpf.c) has it; kernel_rules.hpp makes it. It is C
// as well as C++, because both read it.
#pragma once

#include <linux/types.h>

#define KERNEL_RULES 256
#define RULE_SET_WORDS (KERNEL_RULES / 64)

// A bit for each rule.
struct rule_set {
    __u64 words[RULE_SET_WORDS];
};

// Of a direction, what the kernel has forwarded, how much of it is RoCEv2, and what rules dropped.
struct kernel_counts {
    __u64 forwarded;
    __u64 roce;
    __u64 dropped;
};

#define NAMED_QPN_WORDS 1024 // of 64 QPNs

enum kernel_action { KERNEL_DROP, KERNEL_MARK_CE, KERNEL_CORRUPT };

struct kernel_rule {
    // What it has counted and drawn so far.
    __u64 random; // the generator's state, as in dissector/wire/splitmix64.hpp
    __u64 selected;
    __u64 fired;
    __u64 last_fired_ns; // 0: not yet
    // What it selects, of the packets that the index (kernel_rules.hpp) finds it for.
    __u64 below;       // it fires if 53 random bits are less; 2^53: always, and no draw is needed
    __u64 every;       // 1: each
    __u64 first;       // at most so many firings
    __u64 interval_ns; // 0: none
    __s64 between_low; // since the first packet
    __s64 between_high;
    __u8 host[16]; // IPv4 in its mapped form
    __u8 has_host;
    // What it does.
    __u8 action;
    __u8 also;
    __u8 draws;   // it has p=
    __u8 mask;    // KERNEL_CORRUPT: bits that are turned over
    __u32 offset; // of the byte, from the IP header on; behind the UDP header
};
