// A compiled filter: tests of values, joined by and, or, not. Internal to this room.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "dissector/decode/field.hpp"
#include "dissector/filter/pattern.hpp"

namespace veriroce::filter {

// What can be compared with what. Mac and Bytes of the field table are Bytes.
enum class Type : std::uint8_t { Number, Boolean, Seconds, Ipv4, Ipv6, Bytes, Text };

// Whether values of it are numbers when they are compared; the others are bytes.
constexpr bool numeric(Type type) {
    return type == Type::Number || type == Type::Boolean || type == Type::Seconds;
}

// A value at hand. Text is kept as its bytes.
struct Sample {
    std::uint64_t number = 0; // Seconds: signed nanoseconds
    wire::Bytes bytes;
};

// A value as it was written.
struct Constant {
    std::uint64_t number = 0;
    std::vector<std::uint64_t> also; // further numbers of the same name
    std::vector<std::byte> bytes;
    std::optional<unsigned> prefix_bits; // of an address: only so many count

    [[nodiscard]] Sample sample() const { return {.number = number, .bytes = bytes}; }
};

struct ConstantRange {
    Constant from;
    std::optional<Constant> to;
};

// Bytes of a value: from `first` on, counted from its end if negative; all if there is no `length`.
struct SlicePart {
    std::int64_t first = 0;
    std::optional<std::int64_t> last; // likewise, inclusive
    std::optional<std::size_t> length;
};

// Layers that go by the name of a protocol.
struct ProtocolLayers {
    std::vector<decode::LayerKind> kinds;      // in any order
    std::optional<decode::Protocol> innermost; // a protocol that has no layer of its own
};

struct Operand {
    std::optional<decode::Column> column; // else a protocol
    ProtocolLayers protocol;
    std::vector<SlicePart> slice; // empty: all of it
    std::optional<std::uint64_t> mask;
    Type type = Type::Number; // also after slice and mask
};

// What the parts of a slice may have together: they are put one behind the other.
inline constexpr std::size_t kMaxJoinedBytes = 256;

enum class Verb : std::uint8_t {
    Exists,
    Equal,
    NotEqual,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    In,
    Contains,
    Matches,
};

struct Test {
    Operand left;
    Verb verb = Verb::Exists;
    bool all = false;                  // every value must fulfil it, not any
    std::optional<Operand> right;      // of the comparisons; else
    std::vector<ConstantRange> values; // one of the comparisons and Contains, several of In
    std::optional<Pattern> pattern;    // of Matches
};

struct Node {
    enum class Kind : std::uint8_t { And, Or, Not, Test } kind = Kind::Test;
    std::vector<std::size_t> parts; // nodes; of a Test the index of it
};

// Parentheses and nots within each other.
inline constexpr std::size_t kMaxDepth = 100;

class Program {
  public:
    std::vector<Node> nodes;
    std::vector<Test> tests;
    std::optional<std::size_t> root; // none: everything matches

    [[nodiscard]] bool matches(const decode::Dissection& dissection) const;
    [[nodiscard]] bool needs_icrc() const;
    [[nodiscard]] bool names(std::string_view field) const;
    [[nodiscard]] std::uint64_t patterns_given_up() const;

  private:
    [[nodiscard]] bool node(std::size_t index, const decode::Dissection& dissection) const;
};

} // namespace veriroce::filter
