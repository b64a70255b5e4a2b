#include "tests/transport/sim/pair.hpp"

#include <algorithm>

namespace veriroce::sim::test {

namespace {

constexpr engine::Access every_right{
    .local_write = true, .remote_write = true, .remote_read = true, .remote_atomic = true};

wire::IpAddress address_of(std::size_t index, bool ipv6) {
    const std::string text = (ipv6 ? "fd77::" : "10.77.0.") + std::to_string(index + 1);
    return wire::IpAddress::parse(text).value();
}

wire::MacAddress mac_of(std::size_t index) {
    return wire::MacAddress::parse(index == 0 ? "52:54:00:77:00:01" : "52:54:00:77:00:02").value();
}

} // namespace

std::vector<std::byte> pattern(std::size_t size, std::uint32_t seed) {
    std::vector<std::byte> bytes(size);
    std::uint32_t x = seed * 2654435761U + 1;
    for (std::byte& byte : bytes) {
        x = x * 1664525U + 1013904223U;
        byte = static_cast<std::byte>(x >> 24U);
    }
    return bytes;
}

Side::Side(const PairOptions& options, std::size_t index)
    : base(index == 0 ? 0x100000 : 0x900000),
      memory(pattern(region_bytes, static_cast<std::uint32_t>(index) + 1)),
      engine({.behaviour = options.behaviour}),
      nic({.mac = mac_of(index), .addresses = {address_of(index, options.ipv6)}}, engine,
          index == 1 ? options.filter : nullptr),
      pd(engine.create_pd().value()), cq(engine.create_cq(1024).value()),
      region(engine.register_region(pd, memory, base, every_right).value()),
      qp(engine.create_qp({.pd = pd, .send_cq = cq, .recv_cq = cq}).value()),
      qpn(engine.query_qp(qp).value().qpn) {
    nic.neighbour(address_of(1 - index, options.ipv6), mac_of(1 - index));
}

engine::Sge Side::sge(std::uint64_t offset, std::uint32_t length) const {
    return {.address = base + offset, .length = length, .lkey = region.lkey};
}

wire::MutableBytes Side::at(std::uint64_t offset, std::size_t length) {
    return std::span(memory).subspan(offset, length);
}

void Side::post_receive(std::uint64_t id, std::uint32_t length, std::uint64_t offset) {
    const engine::Sge piece = sge(offset, length);
    const engine::ReceiveRequest request{.id = id, .sges = std::span(&piece, 1)};
    REQUIRE_FALSE(engine.post_receive(qp, std::span(&request, 1)).refused);
}

std::vector<engine::Completion> Side::completions() {
    std::vector<engine::Completion> all;
    while (const auto completion = engine.poll_completion(cq))
        all.push_back(*completion);
    return all;
}

Pair::Pair(const PairOptions& options)
    : sides_{std::make_unique<Side>(options, 0), std::make_unique<Side>(options, 1)} {
    for (std::size_t i = 0; i < 2; ++i) {
        Side& side = *sides_[i];
        const wire::Psn mine = options.psn + (i == 0 ? 0 : 1000);
        const wire::Psn theirs = options.psn + (i == 0 ? 1000 : 0);
        const auto modify = [&](const engine::QpAttributes& attributes) {
            REQUIRE(side.engine.modify_qp(side.qp, attributes, now));
        };
        modify({.state = engine::QpState::Init, .access = every_right});
        modify({.state = engine::QpState::Rtr,
                .path_mtu = options.mtu,
                .dest_qp = sides_[1 - i]->qpn,
                .rq_psn = theirs,
                .address = engine::AddressVector{.source = address_of(i, options.ipv6),
                                                 .destination = address_of(1 - i, options.ipv6)},
                .min_rnr_timer = options.min_rnr_timer,
                .max_dest_rd_atomic = options.max_rd_atomic});
        modify({.state = engine::QpState::Rts,
                .sq_psn = mine,
                .timeout = options.timeout,
                .retry_count = options.retry_count,
                .rnr_retry = options.rnr_retry,
                .max_rd_atomic = options.max_rd_atomic});
    }
}

void Pair::post(engine::SendRequest request, std::span<const engine::Sge> sges,
                std::uint64_t remote) {
    request.sges = sges;
    request.remote_address = sides_[1]->base + remote;
    request.rkey = sides_[1]->region.rkey;
    REQUIRE_FALSE(sides_[0]->engine.post_send(sides_[0]->qp, std::span(&request, 1), now).refused);
}

void Pair::carry(std::size_t port, wire::Bytes frame) {
    const Fate what = fate ? fate(wire_log.size()) : Fate{};
    std::vector<std::byte> copy(frame.begin(), frame.end());
    wire_log.push_back(copy);
    if (what.drop) return;
    if (what.damage) copy[copy.size() - 6] ^= std::byte{0x10};
    network_.send(port, copy, now, what.later);
    if (what.duplicate) network_.send(port, copy, now, what.later);
}

void Pair::pump() {
    for (std::size_t i = 0; i < 2; ++i) {
        sides_[i]->nic.advance(now);
        while (const auto frame = sides_[i]->nic.poll_frame(now))
            carry(i, *frame);
    }
}

void Pair::run(wire::Duration longest) {
    const wire::Instant end = now + longest;
    for (int steps = 0; steps < 1'000'000; ++steps) {
        while (const auto arrival = network_.deliver(now))
            sides_[arrival->port]->nic.receive(arrival->frame, now);
        pump();
        std::optional<wire::Instant> next = network_.next_event();
        for (const auto& side : sides_) {
            const auto due = side->nic.next_deadline();
            if (due && (!next || *due < *next)) next = due;
        }
        if (!next || *next > end) return;
        now = std::max(now, *next);
    }
    FAIL("a million steps and no end");
}

} // namespace veriroce::sim::test
