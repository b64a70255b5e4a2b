#include "transport/engine/management_host.hpp"

#include <algorithm>
#include <cassert>

#include "dissector/wire/management.hpp"
#include "transport/engine/grh.hpp"
#include "transport/engine/view.hpp"

namespace veriroce::engine {
namespace {

// The common header, and the ids with which each message of connection management begins.
constexpr std::size_t kBaseVersionAt = 0;
constexpr std::size_t kClassAt = 1;
constexpr std::size_t kClassVersionAt = 2;
constexpr std::size_t kMethodAt = 3;
constexpr std::size_t kTransactionAt = 8;
constexpr std::size_t kAttributeAt = 16;
constexpr std::size_t kLocalIdAt = 24;
constexpr std::size_t kRemoteIdAt = 28;

constexpr std::uint8_t kBaseVersion = 1;
constexpr std::uint8_t kCmClassVersion = 2;
constexpr std::uint8_t kMethodSend = 3;

enum class Attribute : std::uint16_t {
    Req = 0x10,
    Rej = 0x12,
    Dreq = 0x15,
    Drep = 0x16,
    SidrReq = 0x17,
    SidrRep = 0x18,
};

constexpr std::size_t kRejReasonAt = 34;
constexpr std::uint16_t kInvalidServiceId = 8;
constexpr std::size_t kSidrStatusAt = 28;
constexpr std::uint8_t kServiceNotSupported = 1;
constexpr std::size_t kSidrRequestServiceAt = 32;
constexpr std::size_t kSidrReplyServiceAt = 36;

// N-31, CM-11: length, versions, class and method.
bool well_formed(wire::Bytes datagram) {
    return datagram.size() == wire::kMadBytes &&
           wire::load_u8(datagram, kBaseVersionAt) == kBaseVersion &&
           wire::load_u8(datagram, kClassAt) == wire::kCmClass &&
           wire::load_u8(datagram, kClassVersionAt) == kCmClassVersion &&
           wire::load_u8(datagram, kMethodAt) == kMethodSend;
}

ManagementDatagram begin_answer(wire::Bytes request, Attribute attribute) {
    ManagementDatagram answer{};
    const wire::MutableBytes bytes(answer);
    std::ranges::copy(request.first(4), answer.begin()); // versions, class and method
    std::ranges::copy(request.subspan(kTransactionAt, 8), bytes.subspan(kTransactionAt).begin());
    wire::store_be<2>(bytes, kAttributeAt, static_cast<std::uint16_t>(attribute));
    // What is local to the sender is remote to us.
    std::ranges::copy(request.subspan(kLocalIdAt, 4), bytes.subspan(kRemoteIdAt).begin());
    return answer;
}

constexpr std::uint32_t kReceiveBytes = kGrhBytes + wire::kMadBytes;
constexpr std::uint32_t kBufferBytes = kReceiveBytes + wire::kMadBytes;
constexpr std::uint64_t kAnswerId = std::uint64_t{1} << 32;

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

std::optional<ManagementDatagram> answer_to(wire::Bytes datagram) {
    if (!well_formed(datagram)) return std::nullopt;
    switch (static_cast<Attribute>(wire::load_u16(datagram, kAttributeAt))) {
    case Attribute::Req: { // CM-06: nobody listens
        ManagementDatagram answer = begin_answer(datagram, Attribute::Rej);
        wire::store_be<2>(wire::MutableBytes(answer), kRejReasonAt, kInvalidServiceId);
        return answer;
    }
    case Attribute::Dreq: { // CM-09: no connection is known
        ManagementDatagram answer = begin_answer(datagram, Attribute::Drep);
        std::ranges::copy(datagram.subspan(kRemoteIdAt, 4), answer.begin() + kLocalIdAt);
        return answer;
    }
    case Attribute::SidrReq: {
        ManagementDatagram answer = begin_answer(datagram, Attribute::SidrRep);
        const wire::MutableBytes bytes(answer);
        std::ranges::copy(datagram.subspan(kLocalIdAt, 4), answer.begin() + kLocalIdAt);
        wire::store_be<4>(bytes, kRemoteIdAt, 0U);
        bytes[kSidrStatusAt] = std::byte{kServiceNotSupported};
        std::ranges::copy(datagram.subspan(kSidrRequestServiceAt, 8),
                          bytes.subspan(kSidrReplyServiceAt).begin());
        return answer;
    }
    case Attribute::Rej:
    case Attribute::Drep:
    case Attribute::SidrRep: break;
    }
    return std::nullopt; // of a connection that is not known, or no message
}

ManagementHost::ManagementHost(Engine& engine, wire::Instant now)
    : engine_(engine), memory_(std::size_t{kBuffers} * kBufferBytes) {
    const PdId pd = engine_.create_pd().value();
    cq_ = engine_.create_cq(2 * kBuffers).value();
    qp_ = engine_
              .create_qp({.pd = pd,
                          .type = QpType::Ud,
                          .send_cq = cq_,
                          .recv_cq = cq_,
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
    for (std::uint64_t buffer = 0; buffer < kBuffers; ++buffer)
        receive_into(buffer);
}

void ManagementHost::receive_into(std::uint64_t buffer) {
    const std::array sges{
        Sge{.address = buffer * kBufferBytes, .length = kReceiveBytes, .lkey = lkey_}};
    const std::array work{ReceiveRequest{.id = buffer, .sges = sges}};
    static_cast<void>(engine_.post_receive(qp_, work));
}

bool ManagementHost::serve(wire::Instant now) {
    bool answered = false;
    while (const auto one = engine_.poll_completion(cq_)) {
        if (one->queue == Queue::Receive && one->status == WcStatus::Success) {
            answered = answer(*one, now) || answered;
        } else if (one->queue == Queue::Send) {
            receive_into(one->id - kAnswerId); // the answer has left its buffer
        }
    }
    return answered;
}

bool ManagementHost::answer(const Completion& received, wire::Instant now) {
    const std::size_t at = received.id * kBufferBytes;
    const wire::MutableBytes buffer = wire::MutableBytes(memory_).subspan(at, kBufferBytes);
    const auto message =
        answer_to(buffer.subspan(kGrhBytes, received.byte_len - std::size_t{kGrhBytes}));
    if (!message) {
        receive_into(received.id);
        return false;
    }
    std::ranges::copy(*message, buffer.subspan(kReceiveBytes).begin());
    const std::array sges{
        Sge{.address = at + kReceiveBytes, .length = wire::kMadBytes, .lkey = lkey_}};
    const std::array work{
        SendRequest{.id = kAnswerId + received.id,
                    .sges = sges,
                    .mw = {},
                    .bind = {},
                    .ud = UdDestination{.path = way_back(buffer, received.vlan),
                                        .qpn = received.source_qp.value_or(wire::kGsiQpn),
                                        .qkey = wire::kGsiQkey},
                    .flags = {.signaled = true}}};
    if (engine_.post_send(qp_, work, now).posted == 1) return true;
    receive_into(received.id);
    return false;
}

} // namespace veriroce::engine
