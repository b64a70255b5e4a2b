// Attributes of a QP, as `qp`, `tester qp` and `modify` lines write them, in the terms of the DUT
// contract and of the tester's engine. Pure functions.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "conformance/dut/contract.hpp"
#include "conformance/script/ast.hpp"
#include "transport/engine/verbs.hpp"

namespace veriroce::interpreter {

struct CaseQp;
struct Environment;

// Of a QP and its CQ, unless the case says otherwise.
inline constexpr std::uint32_t kQueueDepth = 128;

// What an owner may do with QPs and regions of his own, whatever a line writes.
inline constexpr engine::Access kOwnRights{.local_write = true};

// A number that a line writes, `otherwise` if it writes none or there is no line.
std::int64_t number_attribute(const script::QpSetup* setup, std::string_view name,
                              std::int64_t otherwise);
// The value of this type that a line writes; null if it writes none or there is no line.
template <typename T>
const T* attribute_value(const script::QpSetup* setup, std::string_view name) {
    const script::Attribute* found = setup == nullptr ? nullptr : setup->attribute(name);
    return found == nullptr ? nullptr : std::get_if<T>(&found->value);
}
// The name of a CQ, an SRQ or an address that a line writes.
std::string name_attribute(const script::QpSetup& setup, std::string_view name,
                           std::string_view otherwise);
engine::QpType type_of(const script::QpSetup& setup);
wire::Qkey qkey_of(const script::QpSetup& setup);
// A QP's local ACK timeout unless the case says otherwise. No settle time reaches it (1.07 s), so
// that a slow lab is not taken for a retransmission.
std::uint8_t timeout_of(const script::QpSetup& setup);

// What brings the DUT's QP to this state, and nothing else.
dut::QpAttributes step_to(engine::QpState state, const CaseQp& qp, const Environment& environment);
// One attribute by its name in the script; nothing for those that only QP creation knows.
void put_attribute(std::string_view name, const CaseQp& qp, const Environment& environment,
                   dut::QpAttributes& into);

// What brings the tester's QP from RESET to RTS.
std::array<engine::QpAttributes, 3> tester_steps(const CaseQp& qp, const Environment& environment);

} // namespace veriroce::interpreter
