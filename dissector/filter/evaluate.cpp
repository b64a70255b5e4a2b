#include <algorithm>
#include <array>
#include <cstring>

#include "dissector/filter/program.hpp"

namespace veriroce::filter {
namespace {

using decode::Dissection;
using decode::LayerSpan;

// Where a part of a slice lies in a value of `size` bytes; empty if it is outside.
std::optional<std::pair<std::size_t, std::size_t>> place(const SlicePart& part, std::size_t size) {
    const auto from_end = [&](std::int64_t at) {
        return at < 0 ? at + static_cast<std::int64_t>(size) : at;
    };
    const std::int64_t first = from_end(part.first);
    std::int64_t end = static_cast<std::int64_t>(size);
    if (part.last) end = from_end(*part.last) + 1;
    if (part.length) end = first + static_cast<std::int64_t>(*part.length);
    if (first < 0 || end <= first || end > static_cast<std::int64_t>(size)) return std::nullopt;
    return std::pair(static_cast<std::size_t>(first), static_cast<std::size_t>(end - first));
}

// The sliced bytes; `room` receives a copy if they are not contiguous.
std::optional<wire::Bytes> sliced(const std::vector<SlicePart>& parts, wire::Bytes whole,
                                  std::array<std::byte, kMaxJoinedBytes>& room) {
    if (parts.size() == 1) {
        const auto found = place(parts.front(), whole.size());
        if (!found) return std::nullopt;
        return whole.subspan(found->first, found->second);
    }
    std::size_t filled = 0;
    for (const SlicePart& part : parts) {
        const auto found = place(part, whole.size());
        if (!found || filled + found->second > room.size()) return std::nullopt;
        std::ranges::copy(whole.subspan(found->first, found->second),
                          room.begin() + static_cast<std::ptrdiff_t>(filled));
        filled += found->second;
    }
    return std::span(room).first(filled);
}

// Calls `use` with one value of the operand, after slice and mask.
template <typename Use>
void give(const Operand& operand, Sample sample, Use& use) {
    if (operand.mask) sample.number &= *operand.mask;
    if (operand.slice.empty()) return use(sample);
    std::array<std::byte, kMaxJoinedBytes> room;
    const auto part = sliced(operand.slice, sample.bytes, room);
    if (!part) return;
    sample.bytes = *part;
    use(sample);
}

bool has_kind(const Operand& operand, decode::LayerKind kind) {
    return std::ranges::find(operand.protocol.kinds, kind) != operand.protocol.kinds.end();
}

// The bytes of a protocol: each header by itself; for a protocol with several kinds of headers,
// everything from the first header to the last.
template <typename Use>
void for_each_header(const Operand& operand, const Dissection& d, Use& use) {
    const auto& innermost = operand.protocol.innermost;
    if (std::ranges::find(innermost, d.protocol) != innermost.end()) use(Sample{});
    const bool joined = operand.protocol.kinds.size() > 1;
    std::optional<std::size_t> first;
    std::size_t end = 0;
    for (const LayerSpan& layer : d.layers) {
        if (!has_kind(operand, layer.kind)) continue;
        first = joined && first ? *first : layer.offset;
        end = std::size_t{layer.offset} + layer.length;
        if (!joined) give(operand, {.bytes = d.frame.bytes.subspan(*first, end - *first)}, use);
    }
    if (joined && first) give(operand, {.bytes = d.frame.bytes.subspan(*first, end - *first)}, use);
}

// Calls `use(sample)` for each value of the operand in the frame.
template <typename Use>
void for_each(const Operand& operand, const Dissection& d, Use use) {
    if (!operand.column) return for_each_header(operand, d, use);
    operand.column->for_each(d, [&](const decode::FieldRow& row, const decode::Value& value) {
        Sample sample{.number = value.number, .bytes = value.bytes};
        if (row.format == decode::Format::Text) sample.bytes = std::as_bytes(std::span(value.text));
        if (row.format == decode::Format::Boolean) sample.number = value.number != 0 ? 1 : 0;
        give(operand, sample, use);
    });
}

// -1, 0 or 1: less, equal, greater.
int order(wire::Bytes a, wire::Bytes b) {
    const std::size_t common = std::min(a.size(), b.size());
    const int found = common > 0 ? std::memcmp(a.data(), b.data(), common) : 0;
    if (found != 0) return found < 0 ? -1 : 1;
    return a.size() == b.size() ? 0 : (a.size() < b.size() ? -1 : 1);
}

int order(Type type, const Sample& a, const Sample& b) {
    if (type == Type::Seconds) {
        const auto x = static_cast<std::int64_t>(a.number);
        const auto y = static_cast<std::int64_t>(b.number);
        return x == y ? 0 : (x < y ? -1 : 1);
    }
    if (numeric(type)) return a.number == b.number ? 0 : (a.number < b.number ? -1 : 1);
    // A shorter byte string is less than a longer one, as in Wireshark.
    if (type == Type::Bytes && a.bytes.size() != b.bytes.size()) {
        return a.bytes.size() < b.bytes.size() ? -1 : 1;
    }
    return order(a.bytes, b.bytes);
}

// Compares the first `bits` bits; both must have that many.
int order_of_prefix(wire::Bytes a, wire::Bytes b, unsigned bits) {
    const std::size_t whole = bits / 8;
    const int found = order(a.first(whole), b.first(whole));
    if (found != 0 || bits % 8 == 0) return found;
    const unsigned shift = 8 - bits % 8;
    const unsigned x = std::to_integer<unsigned>(a[whole]) >> shift;
    const unsigned y = std::to_integer<unsigned>(b[whole]) >> shift;
    return x == y ? 0 : (x < y ? -1 : 1);
}

int order(Type type, const Sample& sample, const Constant& constant) {
    if (constant.prefix_bits && sample.bytes.size() == constant.bytes.size()) {
        return order_of_prefix(sample.bytes, constant.bytes, *constant.prefix_bits);
    }
    if (std::ranges::find(constant.also, sample.number) != constant.also.end()) return 0;
    return order(type, sample, constant.sample());
}

bool holds(Verb verb, int order) {
    switch (verb) {
    case Verb::Equal: return order == 0;
    case Verb::NotEqual: return order != 0;
    case Verb::Less: return order < 0;
    case Verb::LessEqual: return order <= 0;
    case Verb::Greater: return order > 0;
    case Verb::GreaterEqual: return order >= 0;
    case Verb::Exists:
    case Verb::In:
    case Verb::Contains:
    case Verb::Matches: return false; // not comparisons
    }
    return false;
}

bool within(Type type, const Sample& sample, const std::vector<ConstantRange>& values) {
    return std::ranges::any_of(values, [&](const ConstantRange& range) {
        if (!range.to) return order(type, sample, range.from) == 0;
        return order(type, sample, range.from) >= 0 && order(type, sample, *range.to) <= 0;
    });
}

bool contains(wire::Bytes whole, wire::Bytes part) {
    const auto text = [](wire::Bytes bytes) {
        return std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    };
    return text(whole).contains(text(part));
}

// Compares one value with the right side of the test, unless that is a field.
bool fulfils(const Test& test, const Sample& sample) {
    switch (test.verb) {
    case Verb::Exists: return !test.left.mask || sample.number != 0;
    case Verb::In: return within(test.left.type, sample, test.values);
    case Verb::Contains: return contains(sample.bytes, test.values.front().from.bytes);
    case Verb::Matches: return test.pattern->matches(sample.bytes);
    case Verb::Equal:
    case Verb::NotEqual:
    case Verb::Less:
    case Verb::LessEqual:
    case Verb::Greater:
    case Verb::GreaterEqual:
        return holds(test.verb, order(test.left.type, sample, test.values.front().from));
    }
    return false;
}

// A field that is not in the frame satisfies no test.
bool fulfilled(const Test& test, const Dissection& d) {
    std::size_t yes = 0;
    std::size_t no = 0;
    for_each(test.left, d, [&](const Sample& left) {
        if (!test.right) {
            ++(fulfils(test, left) ? yes : no);
            return;
        }
        for_each(*test.right, d, [&](const Sample& right) {
            ++(holds(test.verb, order(test.left.type, left, right)) ? yes : no);
        });
    });
    return yes > 0 && (!test.all || no == 0);
}

} // namespace

bool Program::matches(const Dissection& dissection) const {
    return !root || node(*root, dissection);
}

bool Program::node(std::size_t index, const Dissection& dissection) const {
    const Node& one = nodes[index];
    const auto true_of = [&](std::size_t part) { return node(part, dissection); };
    switch (one.kind) {
    case Node::Kind::And: return std::ranges::all_of(one.parts, true_of);
    case Node::Kind::Or: return std::ranges::any_of(one.parts, true_of);
    case Node::Kind::Not: return !true_of(one.parts.front());
    case Node::Kind::Test: return fulfilled(tests[one.parts.front()], dissection);
    }
    return false;
}

namespace {

template <typename Such>
bool any_operand(const std::vector<Test>& tests, Such such) {
    return std::ranges::any_of(tests, [&](const Test& test) {
        return such(test.left) || (test.right && such(*test.right));
    });
}

// Whether any field of the expression satisfies `such`.
template <typename Such>
bool any_column(const std::vector<Test>& tests, Such such) {
    return any_operand(
        tests, [&](const Operand& operand) { return operand.column && such(*operand.column); });
}

} // namespace

bool Program::needs_icrc() const {
    return needs_flow() ||
           any_column(tests, [](const decode::Column& column) { return column.needs_icrc(); });
}

bool Program::needs_flow() const {
    constexpr auto kFlow = decode::LayerKind::Flow;
    return any_operand(tests, [](const Operand& operand) {
        return operand.column ? operand.column->stands_in(kFlow) : has_kind(operand, kFlow);
    });
}

bool Program::names(std::string_view field) const {
    return any_column(tests, [&](const decode::Column& column) { return column.name() == field; });
}

std::uint64_t Program::patterns_given_up() const {
    std::uint64_t sum = 0;
    for (const Test& test : tests) {
        if (test.pattern) sum += test.pattern->given_up();
    }
    return sum;
}

} // namespace veriroce::filter
