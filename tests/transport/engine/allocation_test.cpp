// No memory is taken per packet or per work request once the queues exist.
#include "tests/transport/engine/lab.hpp"

#include <algorithm>
#include <cstdlib>
#include <new>

namespace {

std::uint64_t allocations = 0;

} // namespace

// Counts all of the program's; the test looks at the difference. All forms are replaced, because
// the address sanitizer's own would pair up with some of ours.
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
    ++allocations;
    return std::malloc(size == 0 ? 1 : size);
}
void* operator new(std::size_t size) {
    if (void* const memory = operator new(size, std::nothrow)) return memory;
    throw std::bad_alloc();
}
void* operator new[](std::size_t size) {
    return operator new(size);
}
void* operator new[](std::size_t size, const std::nothrow_t& tag) noexcept {
    return operator new(size, tag);
}
void operator delete(void* memory) noexcept {
    std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
    std::free(memory);
}
void operator delete(void* memory, const std::nothrow_t&) noexcept {
    std::free(memory);
}
void operator delete[](void* memory) noexcept {
    std::free(memory);
}
void operator delete[](void* memory, std::size_t) noexcept {
    std::free(memory);
}
void operator delete[](void* memory, const std::nothrow_t&) noexcept {
    std::free(memory);
}

using namespace veriroce;
using namespace veriroce::engine;
using namespace veriroce::engine::test;

namespace {

// The packets of one engine, straight into the other.
void carry(Lab& from, Lab& to, std::uint8_t ecn = 0) {
    while (const auto packet = from.engine.poll_transmit(from.now)) {
        std::array<std::byte, wire::kMaxTransportHeaderBytes + 4096 + 4> bytes{};
        auto end = std::ranges::copy(packet->headers, bytes.begin()).out;
        end = std::ranges::copy(packet->payload, end).out + packet->pad;
        const auto size = static_cast<std::size_t>(end - bytes.begin());
        // Each believes the other to be the peer of its lab.
        wire::store_be<3>(bytes, 5, our_qpn.value);
        to.engine.handle(
            {.envelope = {.source = peer_address, .destination = our_address, .ecn = ecn},
             .bytes = wire::Bytes(bytes).first(size)},
            to.now);
    }
}

} // namespace

TEST_CASE("engine: nothing is allocated per packet or per work request", "[engine]") {
    LabOptions asking;
    asking.config.behaviour.obey_credits = true;
    asking.region_access.mw_bind = true;
    asking.sq = rq_psn;
    LabOptions serving;
    serving.config.behaviour.credits = true;
    serving.qp_access.flush_global = serving.region_access.flush_global = true;
    serving.sq = wire::Psn(0x10000);
    Lab a(asking);
    Lab b(serving);
    std::array sges{a.sge(0, 3000), a.sge(4000, 1000)};
    const std::array eight{a.sge(0x4000, 8)};
    std::array<SendRequest, 10> chain{};
    constexpr std::array opcodes{WrOpcode::Send,        WrOpcode::RdmaWrite,
                                 WrOpcode::RdmaRead,    WrOpcode::AtomicWrite,
                                 WrOpcode::BindMw,      WrOpcode::AtomicFetchAndAdd,
                                 WrOpcode::SendWithImm, WrOpcode::RdmaWriteWithImm,
                                 WrOpcode::Flush,       WrOpcode::LocalInv};
    const Engine::Window window = a.engine.allocate_window(a.pd, WindowType::Type2).value();
    for (std::size_t i = 0; i < chain.size(); ++i) {
        chain[i] = {.id = i,
                    .opcode = opcodes[i],
                    .remote_address = region_address,
                    .rkey = b.region.rkey,
                    .invalidate_rkey = window.rkey};
        if (opcodes[i] == WrOpcode::AtomicFetchAndAdd || opcodes[i] == WrOpcode::AtomicWrite) {
            chain[i].sges = eight;
        } else if (opcodes[i] == WrOpcode::BindMw) {
            chain[i].rkey = window.rkey;
            chain[i].mw = window.mw;
            chain[i].bind = BindInfo{.mr = a.region.mr, .address = region_address, .length = 8};
        } else if (opcodes[i] != WrOpcode::Flush && opcodes[i] != WrOpcode::LocalInv) {
            chain[i].sges = sges;
        }
    }
    const std::array target{b.sge(0x8000, 4000)};
    const ReceiveRequest receive{.id = 9, .sges = target};
    std::uint64_t completed = 0;
    std::uint64_t before = 0;
    for (int round = 0; round < 200; ++round) {
        if (round == 1) before = allocations;
        for (int i = 0; i < 3; ++i)
            (void)b.engine.post_receive(b.qp, std::span(&receive, 1));
        (void)a.engine.post_send(a.qp, chain, a.now);
        for (int i = 0; i < 8; ++i) {
            carry(a, b);
            carry(b, a);
        }
        while (a.engine.poll_completion(a.send_cq))
            ++completed;
        while (b.engine.poll_completion(b.receive_cq))
            ++completed;
    }
    const std::uint64_t taken = allocations - before;
    CHECK(completed == 200UL * 13);
    CHECK(taken == 0);
}

TEST_CASE("engine: nothing is allocated where receives are shared and queues notify", "[engine]") {
    Lab lab;
    const SrqId srq =
        lab.engine.create_srq({.pd = lab.pd, .depth = 4, .max_sge = 1, .limit = 1}).value();
    const QpId qp =
        lab.another({.pd = lab.pd, .send_cq = lab.send_cq, .recv_cq = lab.receive_cq, .srq = srq});
    const wire::Qpn qpn = lab.engine.query_qp(qp)->qpn;
    const Sge piece = lab.sge(0x8000, 64);
    const ReceiveRequest receive{.id = 1, .sges = std::span(&piece, 1)};
    std::array<std::byte, wire::kMaxTransportHeaderBytes> bytes{};
    std::uint64_t completed = 0;
    std::uint64_t before = 0;
    for (int round = 0; round < 100; ++round) {
        if (round == 1) before = allocations;
        (void)lab.engine.modify_srq(srq, 1);
        (void)lab.engine.arm_cq(lab.receive_cq, false);
        (void)lab.engine.post_srq_receive(srq, std::span(&receive, 1));
        const std::uint64_t without_packet = allocations;
        wire::Packet send = lab.packet("SEND_ONLY", rq_psn + round); // asserts, so Catch2 allocates
        before += allocations - without_packet;
        send.bth.dest_qp = qpn;
        const std::size_t size = wire::encode_headers(send, bytes);
        lab.engine.handle({.envelope = {.source = peer_address, .destination = our_address},
                           .bytes = wire::Bytes(bytes).first(size)},
                          lab.now);
        while (lab.engine.poll_transmit(lab.now)) {
        }
        while (lab.engine.poll_completion(lab.receive_cq))
            ++completed;
        while (lab.engine.poll_event())
            ++completed;
        completed += lab.engine.take_notification(lab.receive_cq) ? 1 : 0;
    }
    const std::uint64_t taken = allocations - before;
    CHECK(completed == 300);
    CHECK(taken == 0);
}

TEST_CASE("engine: nor for datagrams, UC, CNPs, delayed ACKs and paced packets", "[engine]") {
    const auto type = GENERATE(QpType::Rc, QpType::Uc, QpType::Ud);
    LabOptions options;
    options.type = type;
    options.config.behaviour.ack_policy = AckPolicy::Delayed;
    options.config.behaviour.congestion.reaction.enabled = true;
    options.config.behaviour.congestion.notification.interval = wire::Duration{0};
    options.sq = rq_psn; // both begin where the other expects it
    Lab a(options);
    options.config.behaviour.congestion.notification.scope = CnpScope::Destination;
    Lab b(options);
    const std::array sges{a.sge(0, 900)};
    SendRequest request{.opcode = WrOpcode::Send, .sges = sges};
    if (type == QpType::Ud) request.ud = a.destination();
    const std::array target{b.sge(0x8000, 4000)};
    const ReceiveRequest receive{.id = 9, .sges = target};
    std::uint64_t completed = 0;
    std::uint64_t before = 0;
    for (int round = 0; round < 200; ++round) {
        if (round == 1) before = allocations;
        (void)b.engine.post_receive(b.qp, std::span(&receive, 1));
        (void)a.engine.post_send(a.qp, std::span(&request, 1), a.now);
        for (int i = 0; i < 4; ++i) {
            carry(a, b, wire::kCongestionExperienced);
            carry(b, a, wire::kCongestionExperienced);
            a.now = b.now = a.now + 1ms;
            a.engine.handle_timeout(a.now);
            b.engine.handle_timeout(b.now);
        }
        while (a.engine.poll_completion(a.send_cq))
            ++completed;
        while (b.engine.poll_completion(b.receive_cq))
            ++completed;
    }
    const std::uint64_t taken = allocations - before;
    CHECK(completed == 2 * 200UL);
    CHECK(b.engine.counters().cnp_sent > 0);
    CHECK(a.engine.counters().cnp_handled > 0);
    CHECK(b.engine.counters().ecn_marked > 0);
    CHECK(taken == 0);
}
