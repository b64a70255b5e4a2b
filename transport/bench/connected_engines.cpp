#include "transport/bench/connected_engines.hpp"

#include <stdexcept>

namespace veriroce::bench {
namespace {

template <typename T>
T needed(std::expected<T, engine::VerbError> result) {
    if (!result) throw std::runtime_error(std::string(engine::name_of(result.error())));
    return *std::move(result);
}

void needed(std::expected<void, engine::VerbError> result) {
    if (!result) throw std::runtime_error(std::string(engine::name_of(result.error())));
}

void prepare(End& end, std::size_t qps, std::size_t memory, std::uint32_t depth) {
    engine::Config config;
    config.limits.qps = static_cast<std::uint32_t>(qps) + 1;
    config.behaviour.ack_policy = engine::AckPolicy::Coalesced; // as fast devices do (ACK-03)
    end.engine = std::make_unique<engine::Engine>(config);
    end.pd = needed(end.engine->create_pd());
    end.cq = needed(end.engine->create_cq(1U << 16U));
    end.memory.resize(memory);
    end.region = needed(end.engine->register_region(
        end.pd, end.memory, 0,
        {.local_write = true, .remote_write = true, .remote_read = true, .remote_atomic = true}));
    for (std::size_t i = 0; i < qps; ++i) {
        end.qps.push_back(needed(end.engine->create_qp(
            {.pd = end.pd,
             .send_cq = end.cq,
             .recv_cq = end.cq,
             .capacity = {.max_send = depth, .max_recv = depth, .max_sge = 1, .max_inline = 0}})));
    }
}

void connect(End& end, const End& peer, wire::Mtu mtu, wire::Instant now) {
    for (std::size_t i = 0; i < end.qps.size(); ++i) {
        const engine::QpId qp = end.qps[i];
        needed(end.engine->modify_qp(qp,
                                     {.state = engine::QpState::Init,
                                      .access = engine::Access{.local_write = true,
                                                               .remote_write = true,
                                                               .remote_read = true,
                                                               .remote_atomic = true},
                                      .pkey = wire::Pkey{0xFFFF}},
                                     now));
        needed(end.engine->modify_qp(
            qp,
            {.state = engine::QpState::Rtr,
             .path_mtu = mtu,
             .dest_qp = needed(peer.engine->query_qp(peer.qps[i])).qpn,
             .rq_psn = wire::Psn(0),
             .address = engine::AddressVector{.source = end.address, .destination = peer.address},
             .min_rnr_timer = 12,
             .max_dest_rd_atomic = 4},
            now));
        needed(end.engine->modify_qp(qp,
                                     {.state = engine::QpState::Rts,
                                      .sq_psn = wire::Psn(0),
                                      .timeout = 18,
                                      .retry_count = 7,
                                      .rnr_retry = 7,
                                      .max_rd_atomic = 4},
                                     now));
    }
}

// Ethernet, IPv4, UDP and BTH: the headers before the payload of most packets.
constexpr std::size_t kHeaders = 14 + 20 + 8 + 12;

} // namespace

wire::MutableBytes from_mid_page(std::vector<std::byte>& room, std::size_t offset) {
    const auto there = reinterpret_cast<std::uintptr_t>(room.data()) + offset;
    return wire::MutableBytes(room).subspan((kPage + kPage / 2 - there % kPage) % kPage);
}

ConnectedEngines::ConnectedEngines(std::size_t qps, std::size_t memory, wire::Mtu mtu,
                                   std::uint32_t queue_depth)
    : room_(kPage + wire::kMaxFrameOverhead + wire::bytes_of(mtu)),
      frame_(from_mid_page(room_, kHeaders)), padded_(wire::bytes_of(mtu) + 3) {
    a.address = wire::IpAddress::from_v4(0xC0000201); // 192.0.2.1
    b.address = wire::IpAddress::from_v4(0xC0000202);
    a.mac.bytes[5] = std::byte{1};
    b.mac.bytes[5] = std::byte{2};
    prepare(a, qps, memory, queue_depth);
    prepare(b, qps, memory, queue_depth);
    connect(a, b, mtu, now);
    connect(b, a, mtu, now);
}

bool ConnectedEngines::carry_one(End& from, End& to) {
    const auto packet = from.engine->poll_transmit(now);
    if (!packet) return false;
    wire::Bytes payload = packet->payload;
    if (packet->pad != 0) {
        padded_.assign(payload.begin(), payload.end());
        padded_.resize(payload.size() + packet->pad);
        payload = padded_;
    }
    const std::size_t size =
        wire::write_frame({.source = from.mac, .destination = to.mac}, packet->envelope, ++ip_id_,
                          packet->headers, payload, frame_);
    if (const auto datagram = wire::unseal(wire::Bytes(frame_).first(size))) {
        to.engine->handle(*datagram, now);
    }
    ++packets_;
    return true;
}

void ConnectedEngines::carry() {
    for (bool more = true; more;) {
        more = false;
        while (carry_one(a, b))
            more = true;
        while (carry_one(b, a))
            more = true;
    }
}

} // namespace veriroce::bench
