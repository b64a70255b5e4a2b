// Defects in the order of opcodes.
#include "conformance/mutants/groups.hpp"
#include "conformance/mutants/qp_filter.hpp"

namespace veriroce::mutants::of_opc {
namespace {

using engine::RequestCheck;
using engine::RequestVerdict;
using wire::Position;

struct OpenSend {
    std::optional<wire::Psn> at; // of the newest SEND FIRST or MIDDLE
};

class TakesOrphans final : public QpFilter<OpenSend> {
  protected:
    void arrives(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        const wire::OpcodeInfo& info = packet.info();
        if (info.operation != wire::Operation::Send || info.invalidates()) return;
        auto& open = qp.memory.at;
        if (!info.ends_message()) open = packet.bth.psn;
        const bool goes_on = open && *open + 1 == packet.bth.psn;
        if (info.position == Position::Last && !goes_on) set_place(packet, Position::Only);
    }
};

RequestVerdict restart(const engine::RequestView& view) {
    const bool inside = view.inbound.open != engine::OpenMessage::None;
    if (inside && view.info.position == Position::First) return RequestVerdict::Accept;
    return engine::request_check::opcode_sequence(view);
}

void response_as_request(wire::Packet& packet) {
    if (packet.info().response()) packet.bth.opcode = *wire::opcode_by_name("SEND_MIDDLE");
}

constexpr std::array kMutants{
    Mutant{.name = "orphan_last_taken_for_only",
           .rule = "OPC-03",
           .passive = false,
           .description = "A SEND LAST without a FIRST is executed as SEND ONLY and acknowledged.",
           .cases = "opc/matrix opc/without-first",
           .make_filter = make<TakesOrphans>},
    Mutant{.name = "first_inside_a_message_restarts",
           .rule = "OPC-10",
           .passive = false,
           .description = "A FIRST at ePSN inside an unfinished message silently drops that "
                          "message and begins a new one; there is no NAK.",
           .cases = "opc/inside-a-send opc/inside-a-write opc/matrix",
           .checks = engine::kStandardChecks.with(RequestCheck::OpcodeSequence, restart)},
    Mutant{.name = "response_taken_for_a_request",
           .rule = "OPC-07",
           .description = "Responses go through the responder as SEND MIDDLE.",
           .cases = "n/foreign-vlan-of-answers opc/unasked-response",
           .make_filter = make<EditsInbound<response_as_request>>},
};

} // namespace
} // namespace veriroce::mutants::of_opc

namespace veriroce::mutants {

std::span<const Mutant> opc() {
    return of_opc::kMutants;
}

} // namespace veriroce::mutants
