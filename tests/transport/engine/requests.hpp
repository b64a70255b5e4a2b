// What the tests of the requester have in common: work requests, and the peer's responses to them.
#pragma once

#include "tests/transport/engine/lab.hpp"

namespace veriroce::engine::test {

inline constexpr std::uint64_t remote = 0x777000;
inline constexpr wire::Rkey remote_key{0xBEEF01};

struct Work {
    std::array<Sge, 1> sges;
    SendRequest request;

    Work(const Lab& lab, WrOpcode opcode, std::uint32_t length, std::uint64_t id = 1,
         std::uint64_t offset = 0)
        : sges{lab.sge(offset, length)},
          request{.id = id, .opcode = opcode, .remote_address = remote, .rkey = remote_key} {}
};

inline void post(Lab& lab, Work work, SendFlags flags = {}) {
    work.request.sges = work.sges;
    work.request.flags = flags;
    lab.post(work.request);
}

inline void post(Lab& lab, WrOpcode opcode, std::uint32_t length, std::uint64_t id = 1,
                 std::uint64_t offset = 0) {
    post(lab, Work(lab, opcode, length, id, offset));
}

inline std::vector<std::uint32_t> psns(const std::vector<Sent>& all) {
    std::vector<std::uint32_t> result;
    result.reserve(all.size());
    for (const Sent& sent : all)
        result.push_back(sent.psn());
    return result;
}

using Psns = std::vector<std::uint32_t>;

inline wire::Packet response(const Lab& lab, std::string_view opcode, int n, std::uint32_t msn) {
    wire::Packet packet = lab.packet(opcode, sq_psn + n);
    packet.bth.ack_request = false;
    packet.aeth.msn = {msn};
    return packet;
}

inline void check_failed(Lab& lab, std::uint64_t id, WcStatus status) {
    const auto done = lab.sends();
    REQUIRE_FALSE(done.empty());
    CHECK(done[0].id == id);
    CHECK(done[0].status == status);
    for (std::size_t i = 1; i < done.size(); ++i)
        CHECK(done[i].status == WcStatus::WrFlushErr);
    CHECK(lab.state() == QpState::Err);
    CHECK(lab.drain().empty());
    CHECK_FALSE(lab.engine.next_timeout());
}

} // namespace veriroce::engine::test
