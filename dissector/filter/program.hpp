// A compiled filter: tests combined with and, or, not. Internal to this room.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "dissector/decode/field.hpp"
#include "dissector/filter/pattern.hpp"

namespace veriroce::filter {

// The types that can be compared. Mac and Bytes of the field table are both Bytes.
enum class Type : std::uint8_t { Number, Boolean, Seconds, Ipv4, Ipv6, Bytes, Text };

// Whether values of this type are compared as numbers; others are compared as bytes.
constexpr bool numeric(Type type) {
    return type == Type::Number || type == Type::Boolean || type == Type::Seconds;
}

// A value from a frame. Text is kept as bytes.
struct Sample {
    std::uint64_t number = 0; // Seconds: signed nanoseconds
    wire::Bytes bytes;
};

// A literal.
struct Constant {
    std::uint64_t number = 0;
    std::vector<std::uint64_t> also; // further numbers with the same name
    std::vector<std::byte> bytes;
    std::optional<unsigned> prefix_bits; // of an address: compare only this many bits

    [[nodiscard]] Sample sample() const { return {.number = number, .bytes = bytes}; }
};

struct ConstantRange {
    Constant from;
    std::optional<Constant> to;
};

// Bytes of a value from `first` on (negative: counted from its end); up to the end if there is no
// `length`.
struct SlicePart {
    std::int64_t first = 0;
    std::optional<std::int64_t> last; // inclusive; negative: counted from the end
    std::optional<std::size_t> length;
};

// The layers of a protocol.
struct ProtocolLayers {
    std::vector<decode::LayerKind> kinds;    // in any order
    std::vector<decode::Protocol> innermost; // protocols without a layer of their own
};

struct Operand {
    std::optional<decode::Column> column; // empty: a protocol
    ProtocolLayers protocol;
    std::vector<SlicePart> slice; // empty: the whole value
    std::optional<std::uint64_t> mask;
    Type type = Type::Number; // after slice and mask
};

// The maximum size of a slice with several parts, which are concatenated.
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
    bool all = false;                  // every value must satisfy the test, not any
    std::optional<Operand> right;      // for comparisons; otherwise:
    std::vector<ConstantRange> values; // one for comparisons and Contains, several for In
    std::optional<Pattern> pattern;    // for Matches
};

struct Node {
    enum class Kind : std::uint8_t { And, Or, Not, Test } kind = Kind::Test;
    std::vector<std::size_t> parts; // nodes; for a Test, the index of the test
};

// Maximum nesting of parentheses and nots.
inline constexpr std::size_t kMaxDepth = 100;

class Program {
  public:
    std::vector<Node> nodes;
    std::vector<Test> tests;
    std::optional<std::size_t> root; // empty: everything matches

    [[nodiscard]] bool matches(const decode::Dissection& dissection) const;
    [[nodiscard]] bool needs_icrc() const;
    [[nodiscard]] bool needs_flow() const;
    [[nodiscard]] bool names(std::string_view field) const;
    [[nodiscard]] std::uint64_t patterns_given_up() const;

  private:
    [[nodiscard]] bool node(std::size_t index, const decode::Dissection& dissection) const;
};

} // namespace veriroce::filter
