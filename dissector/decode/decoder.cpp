#include "dissector/decode/decoder.hpp"

#include <algorithm>
#include <bit>

#include "dissector/decode/checks.hpp"
#include "dissector/decode/fast_path.hpp"
#include "dissector/decode/walker.hpp"
#include "dissector/wire/frame.hpp"
#include "dissector/wire/icrc.hpp"

namespace veriroce::decode {
namespace {

void clear(Dissection& out) {
    out.layers.clear();
    out.findings.clear();
    out.network = {};
    out.not_followed = {};
    out.protocol = Protocol::Unknown;
    out.cut = out.malformed = out.fragment = out.upper = false;
    out.icrc = {};
    out.transport = {};
    out.packet.bth = {};
    out.packet.headers = {};
    out.packet.body = {};
    out.has_bth = false;
    out.body_bytes = 0;
}

// Why the ICRC of this packet cannot be checked; None if it can.
IcrcReason obstacle(const Walker& walker, const Dissection& out) {
    if (out.fragment) return IcrcReason::Fragment;
    if (out.cut) return IcrcReason::Cut;
    if (!out.has_bth || !out.layers.has(LayerKind::Icrc)) return IcrcReason::Malformed;
    if (walker.ip_extensions()) return IcrcReason::IpExtensions;
    if (walker.unknown_ip_version()) return IcrcReason::IpVersion;
    return IcrcReason::None;
}

// It is stored least significant byte first, and read the other way round.
std::uint32_t as_read_on_the_wire(std::uint32_t icrc) {
    return std::byteswap(icrc);
}

std::uint32_t icrc_of(const Dissection& out, wire::Bytes covered) {
    if (out.roce()) return wire::icrc(covered);
    if (out.protocol == Protocol::RoceV1) return wire::icrc_from_grh(covered);
    return wire::icrc_from_lrh(covered, out.layers.has(LayerKind::Grh));
}

// Where the lengths contradict each other, the place of the ICRC is a guess.
bool lengths_contradict(const Dissection& out) {
    using enum FindingKind;
    return std::ranges::any_of(out.findings.all(), [](const Finding& finding) {
        return finding.kind == IpHeaderLength || finding.kind == IpLength ||
               finding.kind == IbLength || finding.kind == UdpLength;
    });
}

// Of a packet that has one, at `at`; it covers what begins at `from`.
void verify_icrc(std::uint32_t from, std::uint32_t at, Dissection& out) {
    out.icrc.reason = IcrcReason::None;
    const std::uint32_t computed = icrc_of(out, out.frame.bytes.subspan(from, at - from));
    const std::uint32_t found = wire::load_icrc(out.frame.bytes.subspan(at, wire::kIcrcBytes));
    if (found != computed && !out.findings.empty() && lengths_contradict(out)) {
        out.icrc.reason = IcrcReason::Lengths;
        return;
    }
    out.icrc.found = as_read_on_the_wire(found);
    out.icrc.expected = as_read_on_the_wire(computed);
    out.icrc.status = found == computed ? IcrcStatus::Good : IcrcStatus::Bad;
    if (found == computed) return;
    out.findings.add({.kind = FindingKind::BadIcrc,
                      .offset = at,
                      .length = wire::kIcrcBytes,
                      .found = out.icrc.found,
                      .expected = out.icrc.expected});
}

} // namespace

void dissect_frame(const Options& options, Dissection& out) {
    if (options.fast_path && take_fast_path(out)) {
        check_transport(out);
        const auto icrc = out.transport.data() + out.transport.size() - out.frame.bytes.data();
        if (options.verify_icrc) {
            verify_icrc(out.network.offset, static_cast<std::uint32_t>(icrc), out);
        }
        return;
    }
    clear(out);
    Walker walker(out, options);
    walker.frame();
    if (out.fragment) out.cut = walker.fragment_cut(); // what else is missing is in other frames
    if (!out.transport_packet()) {
        out.findings.clear(); // the rules speak of transport packets
        return;
    }
    check_transport(out);
    if (!options.verify_icrc) return;
    out.icrc.reason = obstacle(walker, out);
    if (out.icrc.reason != IcrcReason::None) return;
    verify_icrc(walker.covered_from(), out.layers.find(LayerKind::Icrc)->offset, out);
}

} // namespace veriroce::decode
