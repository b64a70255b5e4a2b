// Defects in what becomes of packets with a wrong ICRC.
#include <map>

#include "conformance/mutants/groups.hpp"
#include "conformance/mutants/packets.hpp"
#include "dissector/wire/icrc.hpp"
#include "dissector/wire/parsed_frame.hpp"

namespace veriroce::mutants::of_crc {
namespace {

// The frame, if it is right but for its ICRC.
std::optional<wire::Frame> wrong_by_icrc_only(wire::Bytes bytes) {
    const auto parsed = wire::parse_frame(bytes);
    if (!parsed || parsed->refusal != wire::FrameError::BadIcrc) return std::nullopt;
    return parsed->frame;
}

engine::OwnedDatagram owned(const wire::Frame& frame) {
    return {.envelope = frame.envelope(),
            .bytes = {frame.transport.begin(), frame.transport.end()}};
}

class AnyIcrc final : public engine::SurfaceFilter {
  public:
    std::optional<engine::OwnedDatagram> admit(wire::Bytes bytes, wire::Instant /*now*/) override {
        const auto frame = wrong_by_icrc_only(bytes);
        if (!frame) return std::nullopt;
        return owned(*frame);
    }
};

class SwappedIcrc final : public engine::SurfaceFilter {
  public:
    std::optional<engine::OwnedDatagram> admit(wire::Bytes bytes, wire::Instant /*now*/) override {
        const auto frame = wrong_by_icrc_only(bytes);
        if (!frame || swapped(frame->icrc) != wire::icrc(frame->covered())) return std::nullopt;
        return owned(*frame);
    }

  private:
    static std::uint32_t swapped(std::uint32_t value) {
        std::array<std::byte, wire::kIcrcBytes> bytes{};
        wire::store_icrc(bytes, value);
        return wire::load_u32(bytes, 0);
    }
};

// CRC-09: the ICRC of some packets is not compared.
template <bool (*Spared)(const wire::Packet&)>
class AnyIcrcOf final : public engine::SurfaceFilter {
  public:
    std::optional<engine::OwnedDatagram> admit(wire::Bytes bytes, wire::Instant /*now*/) override {
        const auto frame = wrong_by_icrc_only(bytes);
        if (!frame) return std::nullopt;
        const auto packet = wire::decode_packet(frame->transport);
        if (!packet || !Spared(*packet)) return std::nullopt;
        return owned(*frame);
    }
};

// CRC-06: the ICRC leaves some bytes out. Such a frame is one that is right with another bit there.
template <wire::Header Where, std::size_t From, std::size_t To>
class LeavesOut final : public engine::SurfaceFilter {
  public:
    std::optional<engine::OwnedDatagram> admit(wire::Bytes bytes, wire::Instant /*now*/) override {
        const auto frame = wrong_by_icrc_only(bytes);
        if (!frame) return std::nullopt;
        const auto packet = wire::decode_packet(frame->transport);
        if (!packet || !packet->headers.has(Where)) return std::nullopt;
        const auto start = static_cast<std::size_t>(frame->transport.data() - bytes.data());
        std::vector<std::byte> other(bytes.begin(), bytes.end());
        for (std::size_t at = start + From; at < start + To && at < other.size(); ++at) {
            for (unsigned bit = 0; bit < 8; ++bit) {
                other[at] ^= std::byte{1} << bit;
                const auto parsed = wire::parse_frame(other);
                if (parsed && !parsed->refusal) return owned(*frame);
                other[at] ^= std::byte{1} << bit;
            }
        }
        return std::nullopt;
    }
};

constexpr std::size_t kBehindBth = 12;

// The same for the IPv4 identification.
class LeavesOutIpId final : public engine::SurfaceFilter {
  public:
    std::optional<engine::OwnedDatagram> admit(wire::Bytes bytes, wire::Instant /*now*/) override {
        const auto frame = wrong_by_icrc_only(bytes);
        if (!frame || !frame->ipv4) return std::nullopt;
        constexpr std::size_t id_at = 4; // in the IPv4 header
        std::vector<std::byte> other(bytes.begin(), bytes.end());
        for (std::size_t at = 0; at < 2; ++at) {
            for (unsigned bit = 0; bit < 8; ++bit) {
                std::byte& changed = other[frame->outer.ip_at + id_at + at];
                changed ^= std::byte{1} << bit;
                const auto parsed = wire::parse_frame(other);
                if (parsed && wire::icrc(parsed->frame.covered()) == frame->icrc)
                    return owned(*frame);
                changed ^= std::byte{1} << bit;
            }
        }
        return std::nullopt;
    }
};

// The packet goes in as one that is far ahead: the engine drops it and asks for the expected one.
class NakForBadIcrc final : public engine::SurfaceFilter {
  public:
    std::optional<engine::OwnedDatagram> admit(wire::Bytes bytes, wire::Instant /*now*/) override {
        const auto frame = wrong_by_icrc_only(bytes);
        if (!frame) return std::nullopt;
        auto packet = wire::decode_packet(frame->transport);
        if (!packet || !packet->info().request()) return std::nullopt;
        packet->bth.psn += kFarAhead;
        return engine::OwnedDatagram{.envelope = frame->envelope(), .bytes = bytes_of(*packet)};
    }
};

void spoil_icrc(wire::MutableBytes frame) {
    frame.back() ^= std::byte{0x5A};
}

std::optional<wire::Packet> packet_in(wire::Bytes frame) {
    const auto parsed = wire::parse_frame(frame);
    if (!parsed) return std::nullopt;
    return parsed->packet;
}

bool any_packet(const wire::Packet& /*packet*/) {
    return true;
}

// The frames of such packets leave with a wrong ICRC.
template <bool (*Spoils)(const wire::Packet&)>
class SpoilsIcrc final : public engine::SurfaceFilter {
  public:
    void sealed(wire::MutableBytes frame) override {
        const auto packet = packet_in(frame);
        if (packet && Spoils(*packet)) spoil_icrc(frame);
    }
};

class SpoilsEveryThirdIcrc final : public engine::SurfaceFilter {
  public:
    void sealed(wire::MutableBytes frame) override {
        if (++sent_ % 3 == 0) spoil_icrc(frame);
    }

  private:
    std::uint64_t sent_ = 0;
};

// Requests whose PSN does not go beyond those that left for the same QP before.
class SpoilsIcrcOfResent final : public engine::SurfaceFilter {
  public:
    void sealed(wire::MutableBytes frame) override {
        const auto packet = packet_in(frame);
        if (!packet || !packet->info().request()) return;
        if (newest_[packet->bth.dest_qp].note(packet->bth.psn)) spoil_icrc(frame);
    }

  private:
    std::map<wire::Qpn, NewestPsn> newest_; // by the QPN that they go to
};

bool congestion_marked(const engine::OwnedDatagram& datagram) {
    return datagram.envelope.ecn == wire::kCongestionExperienced;
}

bool with_flow_label(const engine::OwnedDatagram& datagram) {
    return datagram.envelope.flow_label != 0;
}

constexpr std::array kMutants{
    Mutant{.name = "any_icrc_accepted",
           .rule = "CRC-07",
           .passive = true,
           .description = "The ICRC is never compared: a packet corrupted on the way is executed "
                          "and acknowledged.",
           .cases = "bth/truncated bth/truncated-answer cm/damaged cnp/not-counted "
                    "crc/bad-icrc-request crc/covered-fields crc/covered-upper-bits crc/noise "
                    "crc/payload crc/then-a-gap",
           .make_filter = make<AnyIcrc>},
    Mutant{.name = "byte_swapped_icrc_accepted",
           .rule = "CRC-07",
           .passive = false,
           .description = "An ICRC that is stored most significant byte first is accepted as well.",
           .cases = "crc/bad-icrc-request crc/bad-icrc-response",
           .make_filter = make<SwappedIcrc>},
    Mutant{.name = "bad_icrc_gets_a_nak",
           .rule = "CRC-07",
           .passive = true,
           .description = "A request with a bad ICRC gets a sequence NAK at once, before a later "
                          "packet shows the gap.",
           .cases = "bth/truncated crc/bad-icrc-request crc/covered-fields",
           .make_filter = make<NakForBadIcrc>},
    Mutant{.name = "every_icrc_wrong",
           .rule = "CRC-01",
           .passive = true,
           .description = "Every packet leaves with a wrong ICRC.",
           .cases = "ack/each-kind rdr/order rsp/duplicate-send sta/ready-to-receive tmo/interval",
           .make_filter = make<SpoilsIcrc<any_packet>>},
    Mutant{.name = "every_third_icrc_wrong",
           .rule = "CRC-01",
           .passive = true,
           .description = "Every third packet leaves with a wrong ICRC.",
           .cases = "ack/each-kind rdr/msn rdr/order",
           .make_filter = make<SpoilsEveryThirdIcrc>},
    Mutant{.name = "icrc_of_acks_wrong",
           .rule = "CRC-01",
           .passive = true,
           .description = "ACKs leave with a wrong ICRC.",
           .cases = "ack/each-kind rsp/duplicate-send",
           .make_filter = make<SpoilsIcrc<is_ack>>},
    Mutant{.name = "icrc_of_read_responses_wrong",
           .rule = "CRC-01",
           .passive = true,
           .description = "READ responses leave with a wrong ICRC.",
           .cases = "rdr/order rdr/msn",
           .make_filter = make<SpoilsIcrc<is_read_response>>},
    Mutant{.name = "icrc_of_resent_wrong",
           .rule = "CRC-01",
           .passive = true,
           .description = "Requests that are sent again leave with a wrong ICRC.",
           .cases = "req/sequence-nak rnr/requester-waits tmo/interval "
                    "tmo/read-lost-several-times tmo/send-lost-several-times "
                    "tmo/write-lost-several-times",
           .make_filter = make<SpoilsIcrcOfResent>},
    Mutant{.name = "congestion_marked_dropped",
           .rule = "CRC-02",
           .description = "Packets that are marked \"congestion experienced\" are dropped, as if "
                          "the ICRC covered the mark.",
           .cases = "crc/congestion-mark",
           .make_filter = make<DropsInbound<congestion_marked>>},
    Mutant{.name = "flow_label_dropped",
           .rule = "CRC-03",
           .description = "IPv6 packets with a flow label are dropped, as if the ICRC covered it.",
           .cases = "crc/flow-label enc/flow-label-bits",
           .make_filter = make<DropsInbound<with_flow_label>>},
    Mutant{.name = "bad_icrc_of_naks_accepted",
           .rule = "CRC-09",
           .description = "The ICRC of NAKs and RNR NAKs is not compared.",
           .cases = "crc/bad-icrc-nak",
           .make_filter = make<AnyIcrcOf<is_nak>>},
    Mutant{.name = "bad_icrc_of_read_responses_accepted",
           .rule = "CRC-09",
           .description = "The ICRC of READ responses is not compared.",
           .cases = "crc/bad-icrc-read-response",
           .make_filter = make<AnyIcrcOf<is_read_response>>},
    Mutant{.name = "icrc_leaves_out_the_upper_address",
           .rule = "CRC-06",
           .description = "The ICRC does not cover the upper half of a 32-bit address's bits.",
           .cases = "crc/covered-upper-bits crc/each-byte",
           .make_filter = make<LeavesOut<wire::Header::Reth, kBehindBth, kBehindBth + 6>>},
    Mutant{.name = "icrc_leaves_out_the_immediate",
           .rule = "CRC-06",
           .description = "The ICRC of SENDs does not cover the immediate data.",
           .cases = "crc/covered-immediate",
           .make_filter = make<LeavesOut<wire::Header::ImmDt, kBehindBth, kBehindBth + 4>>},
    Mutant{.name = "icrc_leaves_out_the_aeth",
           .rule = "CRC-06",
           .description = "The ICRC does not cover the AETH.",
           .cases = "crc/covered-answer crc/each-byte-of-an-answer",
           .make_filter = make<LeavesOut<wire::Header::Aeth, kBehindBth, kBehindBth + 4>>},
    Mutant{.name = "icrc_leaves_out_the_ip_id",
           .rule = "CRC-06",
           .description = "The ICRC does not cover the IPv4 identification.",
           .cases = "crc/covered-ip-id",
           .make_filter = make<LeavesOutIpId>},
};

} // namespace
} // namespace veriroce::mutants::of_crc

namespace veriroce::mutants {

std::span<const Mutant> crc() {
    return of_crc::kMutants;
}

} // namespace veriroce::mutants
