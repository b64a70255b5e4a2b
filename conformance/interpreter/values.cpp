#include "conformance/interpreter/values.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "conformance/interpreter/objects.hpp"

namespace veriroce::interpreter {
namespace {

using wire::Field;

bool is_key(FieldOf field) {
    return field == script::FieldName(Field::Rkey) || field == script::FieldName(Field::Ikey);
}

template <typename Value>
Met<Value> as_met(const std::expected<Value, script::EvalError>& value) {
    if (value) return *value;
    return unplayable(value.error().span, script::text_of(value.error()));
}

// `timer` is the code of the RNR NAK that the QP heard last; nothing else is kept.
std::optional<std::int64_t> field_heard(const CaseQp& qp, const script::FieldName& field) {
    if (field != script::FieldName(script::SpecialField::Timer)) return std::nullopt;
    return qp.rnr_timer;
}

// What names and fields are worth in a line about `qp`. It refers to the objects and the QP.
script::Lookup lookup_in(const Objects& objects, const CaseQp& qp, FieldOf field) {
    return {.name = [&objects, &qp, field](
                        std::string_view name) { return value_of_name(objects, qp, name, field); },
            .field = [&qp](const script::FieldName& wanted) { return field_heard(qp, wanted); },
            .least_timeout = objects.least_timeout};
}

} // namespace

std::optional<std::int64_t> value_of_name(const Objects& objects, const CaseQp& qp,
                                          std::string_view name, FieldOf field) {
    for (auto one = objects.loop_counters.rbegin(); one != objects.loop_counters.rend(); ++one) {
        if (one->first == name) return one->second;
    }
    const QpIdentity& identity = qp.book.identity();
    if (name == "mtu") return wire::bytes_of(identity.mtu);
    if (name == "unused") return objects.unused_qpn.value;
    if (name == "dut") return identity.dut_qpn.value;
    if (name == "tester") return identity.tester_qpn.value;
    const auto key_or_address = [&](const auto& one) {
        return static_cast<std::int64_t>(is_key(field) ? one.rkey.value : one.address);
    };
    const auto region = std::ranges::find(objects.regions, name, &Memory::name);
    if (region != objects.regions.end()) return key_or_address(*region);
    const auto window = std::ranges::find(objects.windows, name, &Window::name);
    if (window != objects.windows.end()) return key_or_address(*window);
    const auto queue = objects.cq_depths.find(std::string(name));
    if (queue != objects.cq_depths.end()) return queue->second;
    const auto other = objects.qps.find(std::string(name));
    if (other != objects.qps.end()) return other->second.book.identity().dut_qpn.value;
    return std::nullopt;
}

Met<std::int64_t> number(const script::Expr& expr, const script::Lookup& lookup) {
    return as_met(script::evaluate(expr, lookup));
}

Met<script::Bounds> bounds(const script::ValueRange& range, const script::Lookup& lookup) {
    return as_met(script::evaluate(range, lookup));
}

Met<std::int64_t> number(const Objects& objects, const script::Expr& expr, const CaseQp& qp,
                         FieldOf field) {
    return number(expr, lookup_in(objects, qp, field));
}

Met<std::int64_t> number_or(const Objects& objects, const std::optional<script::Expr>& expr,
                            std::int64_t otherwise, const CaseQp& qp) {
    if (!expr) return otherwise;
    return number(objects, *expr, qp);
}

Met<wire::Duration> time_or(const Objects& objects, const std::optional<script::Expr>& expr,
                            wire::Duration otherwise, const CaseQp& qp) {
    const auto value = number_or(objects, expr, otherwise.count(), qp);
    if (!value) return std::unexpected(value.error());
    return wire::Duration(*value);
}

Met<script::Bounds> bounds(const Objects& objects, const script::ValueRange& range,
                           const CaseQp& qp) {
    return bounds(range, lookup_in(objects, qp, std::nullopt));
}

Met<Ids> ids_of(const Objects& objects, const script::IdRange& range, const CaseQp& qp) {
    const auto first = number(objects, range.first, qp);
    if (!first) return std::unexpected(first.error());
    const auto last = number(objects, range.last, qp);
    if (!last) return std::unexpected(last.error());
    return Ids{*first, *last};
}

Met<std::uint32_t> key_of(const Objects& objects, const script::Key& key, const CaseQp& qp) {
    const auto* expr = std::get_if<script::Expr>(&key);
    const auto value =
        number(objects, expr != nullptr ? *expr : std::get<script::Absolute>(key).value, qp,
               script::FieldName(Field::Rkey));
    if (!value) return std::unexpected(value.error());
    return static_cast<std::uint32_t>(*value);
}

Met<std::optional<wire::Lkey>> lkey_of(const Objects& objects,
                                       const std::optional<script::Key>& key, const CaseQp& qp) {
    if (!key) return std::nullopt;
    const auto value = key_of(objects, *key, qp);
    if (!value) return std::unexpected(value.error());
    return wire::Lkey{*value};
}

Met<Piece> piece_of(Objects& objects, const script::RegionSlice& slice, const CaseQp& qp) {
    Memory* memory = objects.region(slice.region);
    if (memory == nullptr) {
        return unplayable(slice.span, fmt::format("no region is called '{}'", slice.region));
    }
    const std::uint64_t size = memory->bytes.size();
    const auto offset = number_or(objects, slice.offset, 0, qp);
    if (!offset) return std::unexpected(offset.error());
    Piece piece{.memory = memory, .offset = static_cast<std::uint64_t>(*offset), .length = 0};
    const std::uint64_t rest = size - std::min(piece.offset, size);
    const auto length = number_or(objects, slice.length, static_cast<std::int64_t>(rest), qp);
    if (!length) return std::unexpected(length.error());
    piece.length = static_cast<std::uint64_t>(*length);
    if (piece.offset > size || piece.length > size - piece.offset) {
        return unplayable(slice.span, fmt::format("'{}' has only {} bytes", slice.region, size));
    }
    return piece;
}

} // namespace veriroce::interpreter
