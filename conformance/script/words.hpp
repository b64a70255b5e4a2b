// The closed lists of words of the language that no other table has: keywords, attributes,
// capabilities. The names of states, opcodes, events, ... are those of wire/verbs.hpp. Suggestions
// for mistyped words come from these lists.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "conformance/script/ast.hpp"

namespace veriroce::script {

using Words = std::span<const std::string_view>;

Words header_words();    // rule title role level needs unless tags let for qp tester
Words statement_words(); // dut tester fault expect no quiet dropped judged wait any ... end
Words capabilities();
Words amounts(); // capabilities that are a number: sge, inline, mtu, …
Words traits();
Words case_tags();
Words access_words();
Words completion_statuses(); // the verbs', and FAILED
Words opcode_classes();      // of `for`: requests responses all

bool contains(Words words, std::string_view word);
// Whether a line that begins with this word opens a block, which 'end' closes.
bool opens_block(std::string_view word);

// The kind of value that an attribute of `qp` or `modify` takes.
enum class AttributeKind : std::uint8_t {
    Number,
    Bit,     // 0 or 1
    Mtu,     // 256 512 1024 2048 4096
    Ip,      // 4 6
    Psn,     // 0 .. 2^24-1
    Type,    // RC UC UD
    State,   // RESET INIT ...
    Access,  // access words
    Address, // tester, dut, a `tester address` or a `dut address`
    Cq,      // a CQ's name, or `small`
    Srq,     // an SRQ's name
    Mig,     // MIGRATED REARM ARMED
    Vlan,    // ID or ID.PRIORITY: an attribute `vlan`, and one `vlan.pcp` if it is written
};
struct AttributeRow {
    std::string_view name;
    AttributeKind kind = AttributeKind::Number;
    std::int64_t largest = 0; // of Number
    bool modify = false;      // `dut modify` can set it
};
std::span<const AttributeRow> attributes();
std::vector<std::string_view> attribute_names(bool modify);

std::span<const std::string_view> message_names();
std::optional<Message> message_by_name(std::string_view name);
std::string_view name_of(Message message);
// Operation and variant of a whole message, for opcode_of.
wire::Operation operation_of(Message message);
bool immediate(Message message);
bool invalidates(Message message);
std::span<const std::string_view> special_field_names();
std::optional<SpecialField> special_field_by_name(std::string_view name);
std::string_view name_of(SpecialField field);
std::string_view name_of(Acknowledgement kind);

// The field of this name in scripts; special fields first (`icrc`, `udp.checksum`).
std::optional<FieldName> field_by_name(std::string_view name);
std::string_view name_of(const FieldName& field);
std::vector<std::string_view> field_names();
// A field whose value an expression can read; a case must not define these names.
std::optional<FieldName> readable_field(std::string_view name);

// The opcode names of a service, in the order of their codes; every service includes CNP.
std::vector<std::string_view> opcode_names(wire::Service service);
// Opcode names of a class of `for`: requests responses all.
std::vector<std::string_view> opcodes_of_class(std::string_view name);

} // namespace veriroce::script
