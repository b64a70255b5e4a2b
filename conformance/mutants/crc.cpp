// Defects in what becomes of packets with a wrong ICRC.
#include "conformance/mutants/groups.hpp"
#include "conformance/mutants/packets.hpp"
#include "dissector/wire/icrc.hpp"
#include "dissector/wire/parsed_frame.hpp"

namespace veriroce::mutants {

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
           .cases = "bth/truncated bth/truncated-answer cnp/not-counted crc/bad-icrc-request "
                    "crc/covered-fields crc/covered-upper-bits crc/noise crc/payload "
                    "crc/then-a-gap",
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
           .description =
               "A request with a bad ICRC draws a sequence NAK at once, before any later "
               "packet shows the gap.",
           .cases = "bth/truncated crc/bad-icrc-request crc/covered-fields",
           .make_filter = make<NakForBadIcrc>},
    Mutant{.name = "congestion_marked_dropped",
           .rule = "CRC-02",
           .description = "Packets that are marked \"congestion experienced\" are dropped, as if "
                          "the ICRC covered the mark.",
           .cases = "crc/congestion-mark",
           .make_filter = make<DropsInbound<congestion_marked>>},
    Mutant{.name = "flow_label_dropped",
           .rule = "CRC-03",
           .description = "IPv6 packets with a flow label are dropped, as if the ICRC covered it.",
           .cases = "crc/flow-label",
           .make_filter = make<DropsInbound<with_flow_label>>},
};

} // namespace

std::span<const Mutant> crc() {
    return kMutants;
}

} // namespace veriroce::mutants
