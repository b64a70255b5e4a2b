#include "transport/engine/management_host.hpp"

#include <algorithm>
#include <array>
#include <cassert>

#include "transport/engine/grh.hpp"
#include "transport/engine/view.hpp"

namespace veriroce::engine {
namespace {

constexpr std::uint32_t kReceiveBytes = kGrhBytes + wire::kMadBytes;

// Where a datagram came from, out of its GRH.
AddressVector way_back(wire::Bytes grh, std::optional<wire::VlanId> vlan) {
    const bool v6 = wire::load_u8(grh, 0) >> 4 == 6;
    const auto address = [&](std::size_t v4_at, std::size_t v6_at) {
        return v6 ? wire::IpAddress::from_v6(grh.subspan(v6_at, 16))
                  : wire::IpAddress::from_v4(wire::load_u32(grh, v4_at));
    };
    constexpr std::size_t v4_source = 32;
    constexpr std::size_t v6_source = 8;
    return {.source = address(v4_source + 4, v6_source + 16),
            .destination = address(v4_source, v6_source),
            .vlan = vlan};
}

} // namespace

ManagementHost::ManagementHost(Engine& engine, wire::Instant now)
    : engine_(engine), memory_(std::size_t{kBuffers} * (kReceiveBytes + wire::kMadBytes)) {
    const PdId pd = engine_.create_pd().value();
    send_cq_ = engine_.create_cq(kBuffers).value();
    receive_cq_ = engine_.create_cq(kBuffers).value();
    qp_ = engine_
              .create_qp({.pd = pd,
                          .type = QpType::Ud,
                          .send_cq = send_cq_,
                          .recv_cq = receive_cq_,
                          .srq = {},
                          .capacity = {.max_send = kBuffers, .max_recv = kBuffers},
                          .gsi = true})
              .value();
    lkey_ = engine_.register_region(pd, memory_, 0, {.local_write = true}).value().lkey;
    for (const QpState state : {QpState::Init, QpState::Rtr, QpState::Rts}) {
        QpAttributes step{.state = state};
        if (state == QpState::Rts) step.sq_psn = wire::Psn(0);
        const auto done = engine_.modify_qp(qp_, step, now);
        assert(done);
    }
    for (std::uint64_t buffer = 0; buffer < kBuffers; ++buffer) {
        receive_into(buffer);
        free_.push_back(buffer);
    }
}

void ManagementHost::receive_into(std::uint64_t buffer) {
    const std::array sges{
        Sge{.address = buffer * kReceiveBytes, .length = kReceiveBytes, .lkey = lkey_}};
    const std::array work{ReceiveRequest{.id = buffer, .sges = sges}};
    static_cast<void>(engine_.post_receive(qp_, work));
}

bool ManagementHost::serve(wire::Instant now) {
    connections_.advance(now);
    bool sent = send(now);
    while (!free_.empty()) {
        const auto received = engine_.poll_completion(receive_cq_);
        if (!received) break;
        // A QP in ERR flushes each receive at once: posting it again would never end.
        if (received->status != WcStatus::Success) continue;
        take(*received, now);
        receive_into(received->id);
        sent = send(now) || sent;
    }
    return sent;
}

void ManagementHost::take(const Completion& received, wire::Instant now) {
    const wire::Bytes buffer = wire::Bytes(memory_).subspan(received.id * kReceiveBytes);
    const wire::Bytes datagram =
        buffer.subspan(kGrhBytes, received.byte_len - std::size_t{kGrhBytes});
    connections_.take(datagram, way_back(buffer, received.vlan),
                      received.source_qp.value_or(wire::kGsiQpn), now);
}

bool ManagementHost::send(wire::Instant now) {
    while (const auto left = engine_.poll_completion(send_cq_))
        free_.push_back(left->id);
    bool sent = false;
    while (!free_.empty()) {
        const auto message = connections_.poll_message();
        if (!message) break;
        const std::uint64_t buffer = free_.back();
        const std::size_t at = kBuffers * kReceiveBytes + buffer * wire::kMadBytes;
        std::ranges::copy(message->datagram, memory_.begin() + static_cast<std::ptrdiff_t>(at));
        const std::array sges{Sge{.address = at, .length = wire::kMadBytes, .lkey = lkey_}};
        const std::array work{SendRequest{
            .id = buffer,
            .sges = sges,
            .mw = {},
            .bind = {},
            .ud =
                UdDestination{.path = message->path, .qpn = message->to, .qkey = wire::kGsiQkey}}};
        if (engine_.post_send(qp_, work, now).posted != 1) continue; // as if it were lost
        free_.pop_back();
        sent = true;
    }
    return sent;
}

} // namespace veriroce::engine
