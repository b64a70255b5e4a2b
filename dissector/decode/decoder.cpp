#include "dissector/decode/decoder.hpp"

#include "dissector/decode/checks.hpp"
#include "dissector/decode/walker.hpp"
#include "dissector/wire/icrc.hpp"

namespace veriroce::decode {
namespace {

void clear(Dissection& out) {
    out.layers.clear();
    out.findings.clear();
    out.network = {};
    out.protocol = Protocol::Unknown;
    out.cut = out.malformed = out.fragment = out.upper = false;
    out.icrc = {};
    out.transport = {};
    out.bth = {};
    out.has_bth = false;
    out.body_bytes = 0;
}

// Why the ICRC of this packet cannot be checked; None if it can.
IcrcReason obstacle(const Walker& walker, const Dissection& out) {
    if (out.fragment) return IcrcReason::Fragment;
    if (out.cut) return IcrcReason::Cut;
    if (!out.has_bth || !out.layers.has(LayerKind::Icrc)) return IcrcReason::Malformed;
    if (walker.ip_extensions()) return IcrcReason::IpExtensions;
    return IcrcReason::None;
}

std::uint32_t as_read_on_the_wire(std::uint32_t icrc) {
    std::array<std::byte, 4> bytes{};
    wire::store_icrc(bytes, icrc);
    return wire::load_u32(bytes, 0);
}

std::uint32_t icrc_of(const Dissection& out, wire::Bytes covered) {
    if (out.roce()) return wire::icrc(covered);
    if (out.protocol == Protocol::RoceV1) return wire::icrc_from_grh(covered);
    return wire::icrc_from_lrh(covered, out.layers.has(LayerKind::Grh));
}

void verify_icrc(const Walker& walker, Dissection& out) {
    out.icrc.reason = obstacle(walker, out);
    if (out.icrc.reason != IcrcReason::None) return;
    const LayerSpan icrc = *out.layers.find(LayerKind::Icrc);
    const std::uint32_t from = walker.covered_from();
    const wire::Bytes covered = out.frame.bytes.subspan(from, icrc.offset - from);
    const std::uint32_t computed = icrc_of(out, covered);
    const std::uint32_t found = wire::load_icrc(out.bytes_of(icrc));
    out.icrc.found = as_read_on_the_wire(found);
    out.icrc.expected = as_read_on_the_wire(computed);
    out.icrc.status = found == computed ? IcrcStatus::Good : IcrcStatus::Bad;
    if (found == computed) return;
    out.findings.add({.kind = FindingKind::BadIcrc,
                      .offset = icrc.offset,
                      .length = icrc.length,
                      .found = out.icrc.found,
                      .expected = out.icrc.expected});
}

} // namespace

void dissect_frame(const Options& options, Dissection& out) {
    clear(out);
    Walker walker(out, options);
    walker.frame();
    if (!out.transport_packet()) {
        out.findings.clear(); // the rules speak of transport packets
        return;
    }
    if (out.fragment) out.cut = false; // what is missing is in other frames
    check_transport(out);
    if (options.verify_icrc) verify_icrc(walker, out);
}

} // namespace veriroce::decode
