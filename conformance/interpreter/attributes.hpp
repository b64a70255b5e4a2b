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

// The depth of a QP's queues and of its CQ if the case sets none.
inline constexpr std::uint32_t kQueueDepth = 128;

// The rights that an owner has on its own QPs and regions, whatever a line writes.
inline constexpr engine::Access kOwnRights{.local_write = true};

// The number that a line writes; `otherwise` if it writes none or there is no line.
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
// max_rd_atomic and max_dest_rd_atomic of a case that sets none, on a device with this maximum.
std::int64_t usual_rd_atomic(std::uint32_t most);
engine::QpType type_of(const script::QpSetup& setup);
wire::Qkey qkey_of(const script::QpSetup& setup);
// A QP's local ACK timeout. Its default (1.07 s) is longer than any settle time, so that a slow lab
// does not look like a retransmission.
std::uint8_t timeout_of(const script::QpSetup& setup);
// How often the DUT sends a request again in silence before it gives up.
std::int64_t retries_of(const script::QpSetup& setup);

// READs and atomics of the tester that the DUT has places for.
std::int64_t dut_resources(const CaseQp& qp, const Environment& environment);
// The way of the DUT's packets to the tester.
dut::AddressVector vector_of(const CaseQp& qp, const Environment& environment);
// The attributes that bring the DUT's QP to this state, and no others.
dut::QpAttributes step_to(engine::QpState state, const CaseQp& qp, const Environment& environment);
// Sets one attribute by its name in the script; ignores those that only QP creation takes.
void put_attribute(std::string_view name, const CaseQp& qp, const Environment& environment,
                   dut::QpAttributes& into);

// The steps that bring the tester's QP from RESET to RTS.
std::array<engine::QpAttributes, 3> tester_steps(const CaseQp& qp, const Environment& environment);

} // namespace veriroce::interpreter
