#include "conformance/model/header_checks.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace veriroce::model {
namespace {

using enum rules::Level;
using wire::Position;
using wire::Service;

constexpr std::uint8_t kEcnMarked = 3;

std::uint8_t dscp_of(const dut::AddressVector& vector) {
    return static_cast<std::uint8_t>(vector.traffic_class.value_or(0) >> 2);
}
std::uint8_t ecn_of(const dut::AddressVector& vector) {
    return vector.traffic_class.value_or(0) & 3;
}

bool all_zero(wire::Bytes bytes) {
    return std::ranges::all_of(bytes, [](std::byte b) { return b == std::byte{0}; });
}

// The level and the rule of a frame that receivers drop. A wrong ICRC is the judge's.
struct Unsound {
    wire::FrameError error;
    std::string_view rule;
    std::string_view field;
    rules::Level level;
};
constexpr std::array kUnsound{
    Unsound{wire::FrameError::Fragment, "CA17-8", "ip.df", Must},
    Unsound{wire::FrameError::Truncated, "CA17-2", "udp.length", Must},
    Unsound{wire::FrameError::BadIpVersion, "CA17-2", "ip.version", Must},
    Unsound{wire::FrameError::BadIpChecksum, "N-03", "ip.checksum", Must},
    Unsound{wire::FrameError::LengthMismatch, "CA17-21", "udp.length", Must},
    Unsound{wire::FrameError::BadUdpChecksum, "ENC-05", "udp.checksum", Should},
};

// Of most hosts and routes: a device that reports it may have it from there.
constexpr std::uint8_t kUsualHopLimit = 64;

} // namespace

bool has_cnp_payload(const wire::Packet& packet) {
    constexpr std::size_t reserved = 16;
    return packet.body.size() == reserved && all_zero(packet.body);
}

HeaderChecks::HeaderChecks(const Story& story, DeviationLog& log) : story_(story), log_(log) {
    std::map<dut::QpHandle, dut::AddressVector> set; // the latest one with a hop limit
    for (const Call& call : story.calls) {
        if (!call.answer || !*call.answer) continue;
        if (const auto* modify = std::get_if<dut::QpModify>(&call.request)) {
            const auto& vector = modify->attributes.address_vector;
            if (vector && vector->hop_limit) set[modify->qp] = *vector;
        }
        const auto* query = std::get_if<dut::QpQuery>(&call.request);
        const auto* queried = std::get_if<dut::QpQueried>(&**call.answer);
        if (query == nullptr || queried == nullptr) continue;
        const auto& vector = queried->attributes.address_vector;
        const auto state = queried->attributes.state;
        const bool connected = state != wire::QpState::Reset && state != wire::QpState::Init;
        const bool says = connected && vector && vector->hop_limit.value_or(0) != 0;
        if (!says || !set.contains(query->qp)) continue;
        hop_limits_[query->qp] = {.with = set[query->qp], .hop_limit = *vector->hop_limit};
        const bool same = vector->hop_limit == set[query->qp].hop_limit;
        if (!same || vector->hop_limit != kUsualHopLimit) hop_limit_as_set_ = same;
    }
}

rules::Level HeaderChecks::on_the_way(rules::Level level) const {
    if (story_.setting.exact) return level;
    return level == Must ? Should : Info;
}

void HeaderChecks::take_of_tester(const Packet& packet) {
    if (packet.packet && packet.packet->headers.has(wire::Header::Deth)) {
        datagram_sources_.insert(packet.packet->deth.source_qp);
    }
}

HeaderChecks::Former& HeaderChecks::former_of(const Connection& connection) {
    const dut::AddressVector& latest = connection.vectors.back();
    Former& former = former_.try_emplace(&connection, Former{.latest = latest}).first->second;
    if (former.latest != latest) {
        former.vector = std::exchange(former.latest, latest);
        former.newest_then = former.newest;
    }
    return former;
}

void HeaderChecks::take(const Packet& packet, const Connection& connection) {
    const bool asks = packet.packet && packet.packet->info().request();
    if (!asks || connection.vectors.empty()) return;
    Former& former = former_of(connection);
    std::int64_t last = connection.peer_psn(packet.packet->bth.psn);
    if (packet.packet->info().operation == wire::Operation::RdmaReadRequest)
        last += wire::packets_of(packet.packet->reth.dma_length, connection.mtu()) - 1;
    former.newest = std::max(former.newest, last);
}

// ENC-12: an answer to a request that came before the change may have been made before it, too.
const dut::AddressVector* HeaderChecks::former_vector_of(const Packet& packet,
                                                         const Connection& connection) {
    const Former& former = former_of(connection);
    const bool on_its_way =
        connection.readdressed && former.vector && packet.packet->info().response() &&
        packet.at.earliest - *connection.readdressed <= story_.setting.answer_time &&
        connection.peer_psn(packet.packet->bth.psn) <= former.newest_then;
    return on_its_way ? &*former.vector : nullptr;
}

void HeaderChecks::check_unsound(const Packet& packet) {
    PacketLog log(log_, packet.number, {});
    for (const Unsound& one : kUnsound) {
        if (packet.refusal != one.error) continue;
        log.add(one.rule, one.level, one.field, "the frame must be one that receivers accept",
                std::string(wire::text_of(one.error)));
    }
}

void HeaderChecks::check(const Packet& packet, const Connection* connection) {
    PacketLog log(log_, packet.number, connection == nullptr ? wire::Qpn{} : connection->qpn);
    ethernet(log, packet);
    ip(log, packet);
    bth(log, packet);
    if (packet.packet->info().service == Service::Cnp) cnp(log, packet);
    if (connection == nullptr) return destination_qp(log, packet);
    source(log, packet, *connection);
    path(log, packet, *connection);
    if (connection->type == wire::QpType::Ud) datagram_path(log, packet, *connection);
    bth_of(log, packet, *connection);
}

void HeaderChecks::ethernet(PacketLog& log, const Packet& packet) const {
    const Setting& setting = story_.setting;
    const wire::Ethernet& ethernet = packet.frame.ethernet;
    const auto is = [](const wire::MacAddress& allowed) {
        return [&](const dut::Port& port) { return port.mac == allowed; };
    };
    if (ethernet.destination != setting.tester_mac) {
        log.add("CA17-2", Must, "eth.dst", "eth.dst must be the tester's", "it is another address");
    }
    // Behind a router, or with several ports, the address says nothing.
    const bool beside = std::ranges::any_of(setting.dut.ports, is(setting.dut_mac));
    if (beside && setting.dut.ports.size() == 1 && ethernet.source != setting.dut_mac) {
        log.add("CA17-2", Must, "eth.src", "eth.src must be that of the GID's port",
                "it is another address");
    }
    const std::uint16_t vlan = setting.vlan ? setting.vlan->id : std::uint16_t{0};
    log.equals("N-05", Should, "vlan.id", unsigned{vlan},
               packet.frame.vlan ? unsigned{packet.frame.vlan->id} : 0U);
}

void HeaderChecks::ip(PacketLog& log, const Packet& packet) const {
    const std::size_t behind_ip = packet.frame.udp.length;
    if (const auto& ip = packet.frame.ipv4) {
        log.equals("CA17-3", Must, "IHL", 5U, unsigned{ip->header_length});
        log.equals("CA17-7", Must, "ip.df", true, ip->dont_fragment);
        log.equals("CA17-7", Must, "the reserved IP flag", false, ip->reserved_flag);
        log.equals("CA17-8", Must, "the MF flag", false, ip->more_fragments);
        log.equals("CA17-8", Must, "the fragment offset", 0U, unsigned{ip->fragment_offset});
        log.equals("CA17-6", Must, "ip.length", ip->header_bytes() + behind_ip,
                   std::size_t{ip->total_length});
    }
    if (const auto& ip = packet.frame.ipv6) {
        log.equals("CA17-15", Must, "ip.length", behind_ip, std::size_t{ip->payload_length});
    }
    const std::uint8_t ecn = packet.frame.envelope().ecn;
    // On a real link a switch may have marked it.
    if (ecn == kEcnMarked && story_.setting.exact) {
        log.add(packet.frame.ipv4 ? "CA17-5" : "CA17-14", Must, "ip.ecn",
                "ip.ecn must not be 3: only a switch marks packets", "ip.ecn is 3");
    }
}

// CA17-11, CA17-18: the address of the GID that the QP, or the work request of a datagram, names.
void HeaderChecks::source(PacketLog& log, const Packet& packet,
                          const Connection& connection) const {
    const Setting& setting = story_.setting;
    if (connection.migrates) return;
    const wire::IpAddress& measured = packet.frame.envelope().source;
    const auto is_gid = [&](std::uint32_t index) {
        if (index == setting.gid_index && measured == setting.dut_address) return true;
        return std::ranges::any_of(setting.dut.ports, [&](const dut::Port& port) {
            return std::ranges::any_of(port.gids, [&](const dut::Gid& gid) {
                return gid.index == index && gid.address == measured;
            });
        });
    };
    const bool fits = connection.vectors.empty()
                          ? is_gid(setting.gid_index)
                          : std::ranges::any_of(connection.vectors, [&](const auto& vector) {
                                return is_gid(vector.gid_index);
                            });
    if (fits) return;
    log.add(packet.frame.ipv4 ? "CA17-11" : "CA17-18", Must, "ip.src",
            fmt::format("ip.src must be that of the GID, {}", setting.dut_address.text()),
            fmt::format("ip.src is {}", measured.text()));
}

// All datagrams of a QP are posted with one hop limit and flow label, or with none: they are one
// value for each pair of a QP and an address. So is the DSCP, where no work request has its own.
void HeaderChecks::datagram_path(PacketLog& log, const Packet& packet,
                                 const Connection& connection) {
    const wire::Envelope envelope = packet.frame.envelope();
    const auto known = std::ranges::find_if(datagrams_, [&](const auto& one) {
        return one.first == &connection && one.second.destination == envelope.destination;
    });
    if (known == datagrams_.end()) {
        datagrams_.emplace_back(&connection, envelope);
        return;
    }
    const wire::Envelope& first = known->second;
    log.equals("ENC-11", on_the_way(Should), "ip.ttl", unsigned{first.hop_limit},
               unsigned{envelope.hop_limit});
    if (std::ranges::count(story_.setting.dut.capabilities, "ud_path") == 0) {
        log.equals("ENC-12", on_the_way(Should), "ip.dscp", unsigned{first.dscp},
                   unsigned{envelope.dscp});
    }
    if (story_.setting.trait("multipath")) return;
    log.equals("ENC-02", Should, "udp.sport", unsigned{first.source_port},
               unsigned{envelope.source_port});
}

void HeaderChecks::path(PacketLog& log, const Packet& packet, const Connection& connection) {
    if (connection.vectors.empty() || connection.migrates) return;
    const wire::Envelope envelope = packet.frame.envelope();
    const bool v4 = packet.frame.ipv4.has_value();
    const bool of_cnp = packet.packet->info().service == Service::Cnp;
    const auto none = [&](auto fits) { return std::ranges::none_of(connection.vectors, fits); };
    const dut::AddressVector& latest = connection.vectors.back();
    if (none([&](const auto& vector) { return vector.address == envelope.destination; })) {
        log.add(v4 ? "CA17-12" : "CA17-19", Must, "ip.dst",
                fmt::format("ip.dst must be the QP's peer, {}", latest.address.text()),
                fmt::format("ip.dst is {}", envelope.destination.text()));
    }
    Seen& seen = seen_[&connection];
    if (seen.vector != latest)
        seen = {.vector = latest, .mig_req = seen.mig_req, .next_request = seen.next_request};
    if (of_cnp) return; // its DSCP, hop limit and source port are its own
    const bool response = packet.packet->info().response();
    const dut::AddressVector* former = former_vector_of(packet, connection);
    const bool former_dscp = former != nullptr && dscp_of(*former) == envelope.dscp;
    if (!story_.setting.trait("dscp_overridden") && !former_dscp &&
        none([&](const auto& vector) { return dscp_of(vector) == envelope.dscp; })) {
        log.equals("ENC-12", on_the_way(response ? Should : Must), "ip.dscp",
                   unsigned{dscp_of(latest)}, unsigned{envelope.dscp});
    }
    const bool configured =
        !none([&](const auto& vector) { return ecn_of(vector) == envelope.ecn; });
    const bool former_ecn = former != nullptr && ecn_of(*former) == envelope.ecn;
    if (envelope.ecn != 0 && envelope.ecn != kEcnMarked && !configured && !former_ecn) {
        if (!seen.ect) seen.ect = envelope.ecn;
        log.equals(v4 ? "CA17-5" : "CA17-14", on_the_way(Must), "ip.ecn", unsigned{*seen.ect},
                   unsigned{envelope.ecn});
    }
    if (former == nullptr || former->hop_limit != envelope.hop_limit)
        hop_limit(log, packet, connection, seen);
    source_port(log, packet, connection, seen);
}

std::optional<std::uint8_t> HeaderChecks::reported_hop_limit(const Connection& of) const {
    if (of.vectors.size() != 1) return std::nullopt;
    const dut::AddressVector& vector = of.vectors.back();
    const auto reported = hop_limits_.find(of.handle);
    if (reported != hop_limits_.end() && reported->second.with == vector)
        return reported->second.hop_limit;
    return hop_limit_as_set_ ? vector.hop_limit : std::nullopt;
}

void HeaderChecks::hop_limit(PacketLog& log, const Packet& packet, const Connection& connection,
                             Seen& seen) {
    const std::uint8_t measured = packet.frame.envelope().hop_limit;
    if (const auto reported = reported_hop_limit(connection)) {
        log.equals(packet.frame.ipv4 ? "CA17-9" : "CA17-17", on_the_way(Must), "ip.ttl",
                   unsigned{*reported}, unsigned{measured});
        return;
    }
    if (connection.vectors.size() != 1) return;
    if (!seen.hop_limit) seen.hop_limit = measured;
    log.equals("ENC-11", on_the_way(Should), "ip.ttl", unsigned{*seen.hop_limit},
               unsigned{measured});
}

// ENC-02: one port for the requests of a QP. Answers and resent requests may have others.
void HeaderChecks::source_port(PacketLog& log, const Packet& packet, const Connection& connection,
                               Seen& seen) {
    if (packet.packet->info().response() || story_.setting.trait("multipath")) return;
    const std::int64_t psn = connection.own_psn(packet.packet->bth.psn);
    if (psn < seen.next_request) return;
    seen.next_request = psn + 1;
    if (connection.vectors.size() != 1) return;
    const std::uint16_t port = packet.frame.udp.source_port;
    const auto& wanted = connection.vectors.back().udp_sport;
    if (!seen.request_port) seen.request_port = wanted.value_or(port);
    log.equals("ENC-02", Should, "udp.sport", unsigned{*seen.request_port}, unsigned{port});
}

void HeaderChecks::bth(PacketLog& log, const Packet& packet) const {
    const wire::Bth& bth = packet.packet->bth;
    const wire::OpcodeInfo& info = packet.packet->info();
    const bool multipath = story_.setting.trait("multipath");
    log.equals("BTH-01", Must, "tver", 0U, unsigned{bth.version});
    log.equals("BTH-16", multipath ? Should : Must, "resv7", 0U, unsigned{bth.reserved7});
    log.equals("BTH-16", on_the_way(multipath ? Should : Must), "resv6", 0U,
               unsigned{bth.reserved6});
    if (info.reserved()) {
        log.add("BTH-06", Must, "opcode", "the opcode must not be a reserved one",
                fmt::format("opcode is 0x{:02X}", bth.opcode));
        return;
    }
    if (info.service != Service::Cnp) {
        log.equals("CA17-29", on_the_way(Should), "fecn", false, bth.fecn);
        log.equals("CA17-29", on_the_way(Should), "becn", false, bth.becn);
    }
    if (info.response()) {
        log.equals("BTH-19", Should, "se", false, bth.solicited);
        log.equals("BTH-19", Should, "ackreq", false, bth.ack_request);
    }
    const wire::Bytes body = packet.packet->body;
    if (packet.packet->pad_exceeds_body() || body.size() % 4 != 0) {
        log.add("BTH-09", Must, "pad", "payload and pad must fill words of four bytes",
                fmt::format("{} bytes, pad is {}", body.size(), bth.pad));
        return;
    }
    if (!info.carries_payload() && !body.empty()) {
        log.add("CA17-2", Must, "payload", "this opcode carries no payload",
                fmt::format("{} bytes", body.size()));
    }
    if (!info.ends_message()) log.equals("BTH-09", Must, "pad", 0U, unsigned{bth.pad});
    if (!all_zero(body.last(bth.pad))) {
        log.add("BTH-09", Should, "pad bytes", "pad bytes must be zero", "they are not");
    }
}

void HeaderChecks::bth_of(PacketLog& log, const Packet& packet, const Connection& connection) {
    const wire::Bth& bth = packet.packet->bth;
    const wire::OpcodeInfo& info = packet.packet->info();
    if (!story_.setting.dut.ports.empty()) {
        const auto& pkeys = story_.setting.dut.ports.front().pkeys;
        const std::size_t index = connection.attributes.pkey_index.value_or(0);
        if (index < pkeys.size() && info.service != Service::Cnp) {
            log.equals("BTH-08", Should, "pkey", unsigned{pkeys[index].value},
                       unsigned{bth.pkey.value});
        }
    }
    if (info.service == Service::Cnp) return;
    if (info.service != wire::service_of(connection.type)) {
        log.add("BTH-05", Must, "opcode",
                fmt::format("the QP is of type {}", wire::name_of(connection.type)),
                fmt::format("opcode is 0x{:02X}", bth.opcode));
    }
    if (connection.migrates) return;
    // The value is free; a device that makes answers elsewhere than requests may have two.
    auto& value = seen_[&connection].mig_req[info.response() ? 1 : 0];
    if (!value) value = bth.mig_req;
    log.equals("BTH-15", Should, "migreq", *value, bth.mig_req);
}

// No QP of the device has this peer.
void HeaderChecks::destination_qp(PacketLog& log, const Packet& packet) const {
    const Setting& setting = story_.setting;
    const wire::Qpn qpn = packet.packet->bth.dest_qp;
    const Service service = packet.packet->info().service;
    if (setting.lowest_qpn <= qpn && qpn < setting.first_qpn) return; // of an earlier case
    if (packet.packet->headers.has(wire::Header::Deth)) {
        // N-30: connection management has a QP of its own.
        constexpr wire::Qpn kManagement{1};
        if (packet.packet->deth.source_qp == kManagement) return;
        return log.add("EXT-05", Must, "srcqp", "srcqp must be one of its UD QPs",
                       fmt::format("srcqp is 0x{:06X}", packet.packet->deth.source_qp.value));
    }
    const bool cnp = service == Service::Cnp;
    if (cnp && datagram_sources_.contains(qpn)) return; // N-35
    log.add(cnp ? "CNP-02" : "BTH-19", Must, "destqp",
            cnp ? "destqp must be the QP that sent the marked packet"
                : "destqp must be the peer of one of its QPs",
            fmt::format("destqp is 0x{:06X}", qpn.value));
}

void HeaderChecks::cnp(PacketLog& log, const Packet& packet) const {
    const wire::Bth& bth = packet.packet->bth;
    log.equals("CNP-02", Must, "psn", 0U, bth.psn.value());
    log.equals("CNP-02", Must, "se", false, bth.solicited);
    log.equals("CNP-02", Must, "migreq", false, bth.mig_req);
    log.equals("CNP-02", Should, "ackreq", false, bth.ack_request);
    log.equals("CNP-02", on_the_way(Should), "becn", true, bth.becn);
    log.equals("CNP-02", on_the_way(Should), "fecn", false, bth.fecn);
    if (!has_cnp_payload(*packet.packet)) {
        log.add("CNP-02", Must, "payload", "16 zero bytes must follow the BTH", "they do not");
    }
}

} // namespace veriroce::model
