// What planted devices do wrong on their surface: filters that drop, mishear, misspeak or let in
// one thing. defects.hpp names them.
#pragma once

#include <algorithm>
#include <optional>
#include <set>
#include <vector>

#include "dissector/wire/frame.hpp"
#include "dissector/wire/packet.hpp"
#include "transport/engine/surface_filter.hpp"

namespace veriroce::test {

using engine::OwnedDatagram;

// Drops inbound datagrams, and changes packets on their way.
template <bool (*Drops)(const OwnedDatagram&), void (*In)(wire::Packet&),
          void (*Out)(OwnedDatagram&, wire::Packet&)>
class Defect final : public engine::SurfaceFilter {
  public:
    void inbound(OwnedDatagram datagram, wire::Instant /*now*/, std::vector<OwnedDatagram>& in,
                 std::vector<OwnedDatagram>& /*answers*/) override {
        if (Drops(datagram)) return;
        if (auto packet = wire::decode_packet(datagram.bytes)) {
            In(*packet);
            rewrite(datagram, *packet);
        }
        in.push_back(std::move(datagram));
    }
    void outbound(OwnedDatagram datagram, wire::Instant /*now*/,
                  std::vector<OwnedDatagram>& out) override {
        if (auto packet = wire::decode_packet(datagram.bytes)) {
            Out(datagram, *packet);
            rewrite(datagram, *packet);
        }
        out.push_back(std::move(datagram));
    }

  private:
    static void rewrite(OwnedDatagram& datagram, const wire::Packet& packet) {
        std::array<std::byte, wire::kMaxTransportHeaderBytes> headers{};
        const std::size_t size = wire::encode_headers(packet, headers);
        std::vector<std::byte> bytes(headers.begin(),
                                     headers.begin() + static_cast<std::ptrdiff_t>(size));
        bytes.insert(bytes.end(), packet.body.begin(), packet.body.end());
        datagram.bytes = std::move(bytes);
    }
};

inline bool keeps_all(const OwnedDatagram& /*datagram*/) {
    return false;
}
inline void in_as_it_is(wire::Packet& /*packet*/) {}
inline void out_as_it_is(OwnedDatagram& /*datagram*/, wire::Packet& /*packet*/) {}

template <bool (*Drops)(const OwnedDatagram&)>
std::unique_ptr<engine::SurfaceFilter> deaf() {
    return std::make_unique<Defect<Drops, in_as_it_is, out_as_it_is>>();
}
template <void (*In)(wire::Packet&)>
std::unique_ptr<engine::SurfaceFilter> mishears() {
    return std::make_unique<Defect<keeps_all, In, out_as_it_is>>();
}
template <void (*Out)(OwnedDatagram&, wire::Packet&)>
std::unique_ptr<engine::SurfaceFilter> misspeaks() {
    return std::make_unique<Defect<keeps_all, in_as_it_is, Out>>();
}

inline bool low_port(const OwnedDatagram& datagram) {
    return datagram.envelope.source_port < 0xC000;
}
inline bool last_hop(const OwnedDatagram& datagram) {
    return datagram.envelope.hop_limit <= 1;
}
inline bool marked(const OwnedDatagram& datagram) {
    const auto packet = wire::decode_packet(datagram.bytes);
    if (!packet) return false;
    const wire::Bth& bth = packet->bth;
    return bth.mig_req || bth.fecn || bth.becn || bth.reserved6 != 0 || bth.reserved7 != 0;
}
inline bool padded_with_something(const OwnedDatagram& datagram) {
    const auto packet = wire::decode_packet(datagram.bytes);
    if (!packet || packet->pad_exceeds_body()) return false;
    const auto pad = packet->body.last(packet->bth.pad);
    return std::ranges::any_of(pad, [](std::byte one) { return one != std::byte{0}; });
}
inline bool empty_send(const OwnedDatagram& datagram) {
    const auto packet = wire::decode_packet(datagram.bytes);
    return packet && packet->info().operation == wire::Operation::Send && packet->body.empty();
}
inline bool unreliable(const OwnedDatagram& datagram) {
    const auto packet = wire::decode_packet(datagram.bytes);
    return packet && packet->info().service != wire::Service::Rc &&
           packet->info().service != wire::Service::Cnp;
}
inline bool atomic_write(const OwnedDatagram& datagram) {
    const auto packet = wire::decode_packet(datagram.bytes);
    return packet && packet->info().operation == wire::Operation::AtomicWrite;
}
inline bool response_again(const OwnedDatagram& datagram) {
    const auto packet = wire::decode_packet(datagram.bytes);
    return packet && packet->info().response() &&
           packet->info().operation != wire::Operation::Acknowledge;
}

inline void solicited(wire::Packet& packet) {
    packet.bth.solicited = true;
}
inline void never_solicited(wire::Packet& packet) {
    packet.bth.solicited = false;
}
inline void to_the_first_qp(wire::Packet& packet) {
    if (packet.bth.dest_qp.value <= 1 || packet.bth.dest_qp.value == 0xFFFFFF) {
        packet.bth.dest_qp = wire::Qpn{0x11};
    }
}
inline void credits_as_nak(wire::Packet& packet) {
    if (packet.info().operation == wire::Operation::Acknowledge) {
        packet.aeth.syndrome = wire::Syndrome::ack(31);
    }
}
inline void swapped_compare(wire::Packet& packet) {
    std::swap(packet.atomic.compare, packet.atomic.swap_or_add);
}
inline void hears_too_little(wire::Packet& packet) {
    if (packet.info().operation == wire::Operation::RdmaWrite && packet.reth.dma_length == 0) {
        packet.reth.dma_length = 1;
    }
}

inline void class_lost(OwnedDatagram& datagram, wire::Packet& /*packet*/) {
    datagram.envelope.dscp = 0;
}
inline void impatient_rnr(OwnedDatagram& /*datagram*/, wire::Packet& packet) {
    if (packet.headers.has(wire::Header::Aeth) &&
        packet.aeth.syndrome.kind() == wire::AckKind::RnrNak) {
        packet.aeth.syndrome = wire::Syndrome::rnr(1);
    }
}
inline void to_another_qp(OwnedDatagram& /*datagram*/, wire::Packet& packet) {
    packet.bth.dest_qp.value ^= 1;
}
inline void another_port(OwnedDatagram& datagram, wire::Packet& /*packet*/) {
    datagram.envelope.destination_port = 4790;
}
inline void last_is_middle(OwnedDatagram& /*datagram*/, wire::Packet& packet) {
    if (packet.bth.opcode == *wire::opcode_by_name("SEND_LAST")) {
        packet.bth.opcode = *wire::opcode_by_name("SEND_MIDDLE");
    }
}
inline void other_immediate(OwnedDatagram& /*datagram*/, wire::Packet& packet) {
    packet.imm.value += 1;
}
inline void original_lost(OwnedDatagram& /*datagram*/, wire::Packet& packet) {
    packet.atomic_ack.original = 0;
}
inline void qkey_lost(OwnedDatagram& /*datagram*/, wire::Packet& packet) {
    packet.deth.qkey = {};
}
inline void too_many_messages(OwnedDatagram& /*datagram*/, wire::Packet& packet) {
    packet.aeth.msn = {packet.aeth.msn.value + 1};
}

inline void one_psn_too_low(wire::Packet& packet) {
    if (packet.info().operation == wire::Operation::Acknowledge) {
        packet.bth.psn = packet.bth.psn + -1;
    }
}
inline void hasty(wire::Packet& packet) {
    if (packet.headers.has(wire::Header::Aeth) &&
        packet.aeth.syndrome.kind() == wire::AckKind::RnrNak) {
        packet.aeth.syndrome = wire::Syndrome::rnr(1);
    }
}
inline void response_as_request(wire::Packet& packet) {
    if (packet.info().response()) packet.bth.opcode = *wire::opcode_by_name("SEND_MIDDLE");
}

// Takes any acknowledge for one of the request that was sent last.
class AcknowledgesTheNewest final : public engine::SurfaceFilter {
  public:
    void inbound(OwnedDatagram datagram, wire::Instant /*now*/, std::vector<OwnedDatagram>& in,
                 std::vector<OwnedDatagram>& /*answers*/) override {
        const auto packet = wire::decode_packet(datagram.bytes);
        if (packet && newest_ && packet->info().operation == wire::Operation::Acknowledge) {
            wire::Bth bth = packet->bth;
            bth.psn = *newest_;
            bth.encode(datagram.bytes);
        }
        in.push_back(std::move(datagram));
    }
    void outbound(OwnedDatagram datagram, wire::Instant /*now*/,
                  std::vector<OwnedDatagram>& out) override {
        const auto packet = wire::decode_packet(datagram.bytes);
        if (packet && packet->info().request()) newest_ = packet->bth.psn;
        out.push_back(std::move(datagram));
    }

  private:
    std::optional<wire::Psn> newest_;
};

// Answers requests whatever the state of the QP.
class AnswersBeforeItsTime final : public engine::SurfaceFilter {
  public:
    void qp_changed(const engine::QpReport& report) override {
        early_.erase(report.qpn.value);
        const bool early =
            report.state == engine::QpState::Reset || report.state == engine::QpState::Init;
        if (early) early_.insert(report.qpn.value);
    }
    void inbound(OwnedDatagram datagram, wire::Instant /*now*/, std::vector<OwnedDatagram>& in,
                 std::vector<OwnedDatagram>& answers) override {
        const auto packet = wire::decode_packet(datagram.bytes);
        if (packet && early_.contains(packet->bth.dest_qp.value)) {
            OwnedDatagram answer = datagram;
            std::swap(answer.envelope.source, answer.envelope.destination);
            answers.push_back(std::move(answer));
        }
        in.push_back(std::move(datagram));
    }

  private:
    std::set<std::uint32_t> early_; // QPNs
};

// Sends every request once more, two seconds later.
class SaysItTwice final : public engine::SurfaceFilter {
  public:
    void outbound(OwnedDatagram datagram, wire::Instant /*now*/,
                  std::vector<OwnedDatagram>& out) override {
        const auto packet = wire::decode_packet(datagram.bytes);
        OwnedDatagram again = datagram;
        again.delay = std::chrono::seconds(2);
        out.push_back(std::move(datagram));
        if (packet && packet->info().request()) out.push_back(std::move(again));
    }
};

class HidesFlushedWork final : public engine::SurfaceFilter {
  public:
    std::optional<engine::Completion> completion(const engine::Completion& one) override {
        if (one.status == engine::WcStatus::WrFlushErr) return std::nullopt;
        return one;
    }
};
class MixesReceivesUp final : public engine::SurfaceFilter {
  public:
    std::optional<engine::Completion> completion(const engine::Completion& one) override {
        engine::Completion other = one;
        if (one.queue == engine::Queue::Receive && one.id > 1) other.id = one.id ^ 1;
        return other;
    }
};

// Takes in what the link's edge would drop, or nothing of what it would take.
template <std::optional<OwnedDatagram> (*Admit)(wire::Bytes)>
class Edge final : public engine::SurfaceFilter {
  public:
    std::optional<OwnedDatagram> admit(wire::Bytes frame, wire::Instant /*now*/) override {
        return Admit(frame);
    }
};
inline OwnedDatagram taken(const wire::IpAddress& from, const wire::IpAddress& to,
                           wire::Bytes bytes) {
    return {.envelope = {.source = from, .destination = to}, .bytes = {bytes.begin(), bytes.end()}};
}
inline std::optional<OwnedDatagram> by_ip_length(wire::Bytes frame) {
    const bool v4 = wire::load_u16(frame, 12) == 0x0800;
    const std::size_t transport = 14 + (v4 ? 20U : 40U) + 8;
    if (frame.size() < transport + 16) return std::nullopt;
    const wire::Bytes bytes = frame.subspan(transport, frame.size() - transport - 4);
    if (v4) {
        const auto ip = wire::Ipv4::read(frame.subspan(14));
        return taken(wire::IpAddress::from_v4(ip.source), wire::IpAddress::from_v4(ip.destination),
                     bytes);
    }
    const auto ip = wire::Ipv6::read(frame.subspan(14));
    return taken(ip.source, ip.destination, bytes);
}
inline std::optional<OwnedDatagram> of_rocev1(wire::Bytes frame) {
    if (wire::load_u16(frame, 12) != 0x8915 || frame.size() < 70) return std::nullopt;
    const auto grh = wire::Ipv6::read(frame.subspan(14));
    return taken(grh.source, grh.destination, frame.subspan(54, frame.size() - 58));
}
inline std::optional<OwnedDatagram> any_ip_checksum(wire::Bytes frame) {
    const auto decoded = wire::decode_frame(frame);
    if (!decoded || !decoded->ipv4) return std::nullopt;
    std::vector<std::byte> mended(frame.begin(), frame.end());
    const wire::MutableBytes header = wire::MutableBytes(mended).subspan(14, 20);
    wire::store_be<2>(header, 10, 0);
    wire::store_be<2>(header, 10, wire::checksum_fold(wire::checksum_add(header)));
    const auto unsealed = wire::unseal(wire::Bytes(mended));
    if (!unsealed) return std::nullopt;
    return taken(decoded->envelope().source, decoded->envelope().destination, decoded->transport);
}
inline std::optional<OwnedDatagram> nothing_with_a_checksum(wire::Bytes frame) {
    const auto decoded = wire::decode_frame(frame);
    if (!decoded || decoded->udp.checksum == 0) return std::nullopt;
    return OwnedDatagram{};
}

template <typename Filter>
std::unique_ptr<engine::SurfaceFilter> one() {
    return std::make_unique<Filter>();
}

} // namespace veriroce::test
