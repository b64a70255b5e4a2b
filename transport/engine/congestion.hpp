// Congestion management as options: the notification point, which answers a marked packet with a
// CNP, and the reaction point, which sends more slowly when one comes (DCQCN).
//
// Rates are bits per second, as they stand on the wire from the Ethernet header to the ICRC.
//
// Source: CA17-5, CA17-44..46, rules CNP-01..CNP-13, N-35; DCQCN as published by Zhu et al.,
// "Congestion Control for Large-Scale RDMA Deployments" (SIGCOMM 2015), whose values are the
// defaults. The annex fixes neither the interval nor the amounts.
#pragma once

#include <cstdint>

#include "dissector/wire/instant.hpp"

namespace veriroce::engine {

// CNP-04: among which packets the interval between two CNPs is kept.
enum class CnpScope : std::uint8_t {
    Qp,          // those that our QP receives
    Destination, // those that come from one address
    Port,        // all
};

// CNP-11: a CNP without BECN, with FECN, or with another body than 16 zero bytes.
enum class OddCnp : std::uint8_t { Obey, Ignore };

struct NotificationPoint {
    bool enabled = true;
    CnpScope scope = CnpScope::Qp;
    wire::Duration interval = std::chrono::microseconds(50); // at least, between two CNPs
    std::uint8_t dscp = 48;                                  // CNP-06
    std::uint8_t ecn = 0;      // CA17-5: a CNP itself is not marked on its way
    bool for_responses = true; // CNP-07: a mark on an ACK or a READ response counts as well
};

struct Dcqcn {
    std::uint64_t line_rate = 100'000'000'000;
    std::uint64_t min_rate = 10'000'000;
    std::uint8_t gain_shift = 8; // g = 2^-8: how much of alpha is renewed at once
    wire::Duration alpha_period = std::chrono::microseconds(55);
    wire::Duration increase_period = std::chrono::microseconds(55);
    std::uint64_t increase_bytes = 10'000'000;
    std::uint32_t fast_recovery_steps = 5; // F
    std::uint64_t additive_rate = 40'000'000;
    std::uint64_t hyper_rate = 400'000'000;
    wire::Duration cut_interval{0}; // least time between two cuts; CNPs in between have no effect
    bool clamp_target = true;       // each cut, and not only the first, lowers the target too
};

struct ReactionPoint {
    bool enabled = false; // CA17-45: if supported. Its QPs then send ECT(0) (CA17-5)
    OddCnp odd_cnp = OddCnp::Obey;
    Dcqcn dcqcn;
};

struct Congestion {
    NotificationPoint notification;
    ReactionPoint reaction;
};

} // namespace veriroce::engine
