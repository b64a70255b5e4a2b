// The values of expressions, fields and addresses in a script.
#include "conformance/interpreter/interpreter.hpp"

namespace veriroce::interpreter {

using script::SpecialField;
using wire::Field;

// --- numbers ----------------------------------------------------------------------------------

std::optional<std::int64_t> Interpreter::resolve(std::string_view name, const Peer& peer,
                                                 std::optional<script::FieldName> field) const {
    for (auto one = counters_.rbegin(); one != counters_.rend(); ++one) {
        if (one->first == name) return one->second;
    }
    if (name == "mtu") return wire::bytes_of(peer.book.identity().mtu);
    if (name == "unused") return unused_qpn_.value;
    if (name == "dut") return peer.book.identity().dut_qpn.value;
    if (name == "tester") return peer.book.identity().tester_qpn.value;
    for (const Memory& region : regions_) {
        if (region.name != name) continue;
        const bool key =
            field == script::FieldName(Field::Rkey) || field == script::FieldName(Field::Ikey);
        return static_cast<std::int64_t>(key ? region.rkey.value : region.address);
    }
    for (const Window& one : windows_) {
        if (one.name != name) continue;
        const bool key =
            field == script::FieldName(Field::Rkey) || field == script::FieldName(Field::Ikey);
        return static_cast<std::int64_t>(key ? one.rkey.value : one.address);
    }
    if (const auto other = peers_.find(std::string(name)); other != peers_.end()) {
        return other->second.book.identity().dut_qpn.value;
    }
    return std::nullopt;
}

Met<std::int64_t> Interpreter::number(const script::Expr& expr, const Peer& peer,
                                      std::optional<script::FieldName> field,
                                      const Entry* at_hand) const {
    const script::Lookup lookup{
        .name = [&](std::string_view name) { return resolve(name, peer, field); },
        .field = [&](const script::FieldName& wanted) -> std::optional<std::int64_t> {
            return at_hand == nullptr ? std::nullopt : field_of(peer, *at_hand, wanted);
        }};
    const auto value = script::evaluate(expr, lookup);
    if (!value) return std::unexpected(error(value.error().span, script::text_of(value.error())));
    return *value;
}

Met<wire::Duration> Interpreter::time_or(const std::optional<script::Expr>& expr,
                                         wire::Duration otherwise, const Peer& peer) const {
    if (!expr) return otherwise;
    const auto value = number(*expr, peer);
    if (!value) return std::unexpected(value.error());
    return wire::Duration(*value);
}

Met<script::Bounds> Interpreter::bounds(const script::ValueRange& range, const Peer& peer,
                                        std::optional<script::FieldName> field,
                                        const Entry* at_hand) const {
    script::Bounds result;
    if (range.low) {
        const auto low = number(*range.low, peer, field, at_hand);
        if (!low) return std::unexpected(low.error());
        result.low = *low;
    }
    if (range.high) {
        const auto high = number(*range.high, peer, field, at_hand);
        if (!high) return std::unexpected(high.error());
        result.high = *high;
    }
    return result;
}

std::optional<wire::IpAddress> Interpreter::address_of(const script::Address& address) const {
    wire::IpAddress base = environment_.tester.address;
    if (address.name == "dut") {
        base = environment_.dut_address;
    } else if (address.name != "tester") {
        const auto named = environment_.tester.named.find(address.name);
        if (named == environment_.tester.named.end()) return std::nullopt;
        base = named->second;
    }
    const auto low = static_cast<std::uint32_t>(base.low32() + address.offset);
    wire::store_be<4>(base.bytes, 12, low);
    return base;
}
std::optional<std::int64_t> Interpreter::field_of(const Peer& peer, const Entry& entry,
                                                  const script::FieldName& field) const {
    if (!entry.packet) return std::nullopt;
    const wire::Packet& packet = *entry.packet;
    if (const auto* wire_field = std::get_if<Field>(&field)) {
        if (*wire_field == Field::Psn) return peer.book.relative_psn(entry.from, packet);
        const auto value = wire::read_field(entry.bytes, entry.frame.layers, *wire_field);
        if (!value) return std::nullopt;
        return static_cast<std::int64_t>(*value);
    }
    switch (std::get<SpecialField>(field)) {
    case SpecialField::Length: return static_cast<std::int64_t>(packet.payload().size());
    case SpecialField::Credits:
    case SpecialField::Timer:
    case SpecialField::Code:
        if (!packet.headers.has(wire::Header::Aeth)) return std::nullopt;
        return packet.aeth.syndrome.code();
    case SpecialField::UdpChecksum: return entry.frame.udp.checksum;
    case SpecialField::Icrc: return entry.frame.icrc;
    case SpecialField::Data:
    case SpecialField::PadBytes:
    case SpecialField::IpOptions: return std::nullopt;
    }
    return std::nullopt;
}

} // namespace veriroce::interpreter
