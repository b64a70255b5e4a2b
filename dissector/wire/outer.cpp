#include "dissector/wire/outer.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "dissector/wire/bth.hpp"
#include "dissector/wire/ethernet.hpp"
#include "dissector/wire/field_places.hpp"
#include "dissector/wire/icrc.hpp"
#include "dissector/wire/ip.hpp"
#include "dissector/wire/udp.hpp"

namespace veriroce::wire {
namespace {

// --- finding the layers -----------------------------------------------------------------------

constexpr bool is(std::uint64_t type, EtherType expected) {
    return type == static_cast<std::uint16_t>(expected);
}

std::size_t left(const Outer& outer) {
    return outer.frame.size() - outer.ip_at;
}

// Headers that are known to be there. Their sizes are constants, so that reading a field costs no
// comparison.
Bytes ipv4(const Outer& outer) {
    return outer.frame.subspan(outer.ip_at, Ipv4::kSize);
}
Bytes ipv6(const Outer& outer) {
    return outer.frame.subspan(outer.ip_at, Ipv6::kSize);
}
Bytes udp(const Outer& outer) {
    return outer.frame.subspan(outer.udp_at, Udp::kSize);
}

bool holds_ethernet(Outer& outer) {
    return outer.frame.size() >= Ethernet::kSize;
}

bool holds_tag(Outer& outer) {
    outer.tagged = is(load<where("eth.type")>(outer.frame), EtherType::Vlan);
    outer.ip_at = Ethernet::kSize + (outer.tagged ? VlanTag::kSize : 0);
    return outer.frame.size() >= outer.ip_at;
}

bool is_ip(Outer& outer) {
    const std::uint64_t type = outer.tagged
                                   ? load<where("vlan.etype")>(outer.frame, Ethernet::kSize)
                                   : load<where("eth.type")>(outer.frame);
    outer.v6 = is(type, EtherType::Ipv6);
    return outer.v6 || is(type, EtherType::Ipv4);
}

bool holds_ip_header(Outer& outer) {
    return left(outer) >= (outer.v6 ? Ipv6::kSize : Ipv4::kSize);
}

bool ip_header_length_possible(Outer& outer) {
    const std::size_t bytes = outer.v6 ? Ipv6::kSize : load<where("ip.hdr_len")>(ipv4(outer)) * 4;
    outer.udp_at = outer.ip_at + static_cast<std::uint32_t>(bytes);
    return bytes >= Ipv4::kSize;
}

bool ip_length_covers_header(Outer& outer) {
    const std::uint64_t bytes = outer.v6 ? Ipv6::kSize + load<where("ipv6.plen")>(ipv6(outer))
                                         : load<where("ip.len")>(ipv4(outer));
    outer.ip_end = outer.ip_at + static_cast<std::uint32_t>(bytes);
    return outer.ip_end >= outer.udp_at;
}

bool holds_ip_packet(Outer& outer) {
    return outer.ip_end <= outer.frame.size();
}

bool carries_udp(Outer& outer) {
    return (outer.v6 ? load<where("ipv6.nxt")>(ipv6(outer))
                     : load<where("ip.proto")>(ipv4(outer))) == kProtocolUdp;
}

// ENC-09. The first fragment, too: its UDP length points beyond its end.
bool is_no_fragment(Outer& outer) {
    return outer.v6 || (load<where("ip.flags.mf")>(ipv4(outer)) |
                        load<where("ip.frag_offset")>(ipv4(outer))) == 0;
}

bool holds_udp_header(Outer& outer) {
    outer.bth_at = outer.udp_at + static_cast<std::uint32_t>(Udp::kSize);
    return outer.ip_end >= outer.bth_at;
}

std::uint32_t udp_length(const Outer& outer) {
    return static_cast<std::uint32_t>(load<where("udp.length")>(udp(outer)));
}

bool udp_length_possible(Outer& outer) {
    const std::uint32_t bytes = udp_length(outer);
    return bytes >= Udp::kSize && bytes <= outer.ip_end - outer.udp_at;
}

// The destination's port decides alone: a sender chooses its own for its entropy (ENC-02).
bool goes_to_roce_port(Outer& outer) {
    return load<where("udp.dstport")>(udp(outer)) == kRocePort;
}

bool holds_bth_and_icrc(Outer& outer) {
    const std::uint32_t bytes = udp_length(outer);
    if (bytes < Udp::kSize + Bth::kSize + kIcrcBytes) return false;
    outer.icrc_at = outer.udp_at + bytes - static_cast<std::uint32_t>(kIcrcBytes);
    return true;
}

// --- judging the headers ----------------------------------------------------------------------

bool ip_version_fits_type(Outer& outer) {
    return load<where("ip.version")>(ipv4(outer)) == (outer.v6 ? 6 : 4); // of both families
}

bool ip_checksum_right(Outer& outer) {
    if (outer.v6) return true;
    const std::size_t bytes = outer.udp_at - outer.ip_at;
    if (bytes == Ipv4::kSize) return checksum_fold(ipv4_header_sum(ipv4(outer))) == 0;
    const Bytes header = outer.frame.subspan(outer.ip_at, std::min(bytes, left(outer)));
    return checksum_fold(ipv4_header_sum(header)) == 0;
}

// ENC-08: a receiver drops what one of the two lengths alone would let pass.
bool lengths_agree(Outer& outer) {
    return udp_length(outer) == outer.ip_end - outer.udp_at;
}

} // namespace

// --- summing up all bytes ---------------------------------------------------------------------

// ENC-04, ENC-05: zero is none, in both families. ENC-06 leaves open what becomes of a wrong one:
// an unfinished one is accepted, because the packet has not been on a wire yet and the ICRC guards
// it.
bool udp_checksum_acceptable(const Outer& outer) {
    const std::uint64_t found = load<where("udp.checksum")>(udp(outer));
    if (found == 0) return true;
    const Bytes addresses = ip_addresses(outer.frame.subspan(outer.ip_at), outer.v6);
    const Bytes datagram = outer.frame.subspan(outer.udp_at, udp_length(outer));
    return found == udp_checksum(addresses, datagram) ||
           found == unfinished_udp_checksum(addresses, datagram);
}

namespace {

bool udp_checksum_right(Outer& outer) {
    return udp_checksum_acceptable(outer);
}

bool icrc_right(Outer& outer) { // CRC-07
    return icrc(outer.covered()) == load_icrc(outer.frame.subspan(outer.icrc_at, kIcrcBytes));
}

// --- the list ---------------------------------------------------------------------------------

// What a check does; who asks for one also asks for those before it.
enum class Depth : std::uint8_t { Finds, Judges, Sums };

struct Check {
    FrameError error;
    Depth depth;
    bool (*passes)(Outer&);
};

using enum Depth;

// In the order of CA17-24. A check relies on the checks before it that have its depth or less.
constexpr auto kChecks = std::to_array<Check>({
    {FrameError::Truncated, Finds, holds_ethernet},
    {FrameError::Truncated, Finds, holds_tag},
    {FrameError::NotIp, Finds, is_ip},
    {FrameError::Truncated, Finds, holds_ip_header},
    {FrameError::BadIpVersion, Judges, ip_version_fits_type},
    {FrameError::LengthMismatch, Finds, ip_header_length_possible},
    {FrameError::BadIpChecksum, Judges, ip_checksum_right},
    {FrameError::LengthMismatch, Finds, ip_length_covers_header},
    {FrameError::Truncated, Finds, holds_ip_packet},
    {FrameError::NotUdp, Finds, carries_udp},
    {FrameError::Fragment, Finds, is_no_fragment},
    {FrameError::LengthMismatch, Finds, holds_udp_header},
    {FrameError::LengthMismatch, Judges, lengths_agree},
    {FrameError::LengthMismatch, Finds, udp_length_possible},
    {FrameError::NotRoce, Finds, goes_to_roce_port},
    {FrameError::Truncated, Finds, holds_bth_and_icrc},
    {FrameError::BadUdpChecksum, Sums, udp_checksum_right},
    {FrameError::BadIcrc, Sums, icrc_right},
});

template <Depth Deepest, std::size_t I>
bool refused(Outer& outer, std::optional<FrameError>& error) {
    if constexpr (kChecks[I].depth <= Deepest) {
        if (!kChecks[I].passes(outer)) {
            error = kChecks[I].error;
            return true;
        }
    }
    return false;
}

// The checks in their order, joined by the compiler into one function, until one fails.
template <Depth Deepest>
[[gnu::flatten]] std::optional<FrameError> run(Outer& outer) {
    std::optional<FrameError> error;
    [&]<std::size_t... I>(std::index_sequence<I...>) {
        (void)(refused<Deepest, I>(outer, error) || ...);
    }(std::make_index_sequence<kChecks.size()>());
    return error;
}

} // namespace

std::optional<FrameError> find_layers(Outer& outer) {
    return run<Finds>(outer);
}
std::optional<FrameError> check_headers(Outer& outer) {
    return run<Judges>(outer);
}
std::optional<FrameError> check_frame(Outer& outer) {
    return run<Sums>(outer);
}

std::string_view text_of(FrameError error) {
    switch (error) {
    case FrameError::NotIp: return "neither IPv4 nor IPv6";
    case FrameError::NotUdp: return "IP, but not UDP";
    case FrameError::NotRoce: return "UDP, but not to port 4791";
    case FrameError::Fragment: return "a fragment of an IP datagram";
    case FrameError::Truncated: return "shorter than its length fields say, or than BTH and ICRC";
    case FrameError::BadIpVersion: return "the IP version contradicts the EtherType";
    case FrameError::BadIpChecksum: return "wrong IPv4 header checksum";
    case FrameError::LengthMismatch: return "the lengths in the IP and UDP headers do not fit";
    case FrameError::BadUdpChecksum: return "wrong UDP checksum";
    case FrameError::BadIcrc: return "wrong ICRC";
    }
    return "";
}

} // namespace veriroce::wire
