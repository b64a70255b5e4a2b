// Defects in what an arriving packet does, and in what the host is told of it.
#include "conformance/mutants/groups.hpp"
#include "conformance/mutants/psn_shift.hpp"

namespace veriroce::mutants::of_effects {
namespace {

using engine::RequestVerdict;
using engine::RequestView;

// RSP-15. The engine's PSN goes on with the extra WRITE; the device's does not.
RequestVerdict write_duplicate(const RequestView& view) {
    const RequestVerdict verdict = engine::request_check::expected_psn(view);
    const bool whole = view.info.operation == wire::Operation::RdmaWrite &&
                       view.info.starts_message() && view.info.ends_message() &&
                       !view.info.immediate();
    const bool again = verdict == RequestVerdict::Duplicate && whole &&
                       view.packet.bth.ack_request &&
                       view.inbound.open == engine::OpenMessage::None;
    return again ? RequestVerdict::Accept : verdict;
}

bool executed_write_again(const wire::Packet& packet, Told told) {
    return is_ack(packet) && told.behind && told.fresh;
}

RequestVerdict drop_illegal(const RequestView& view) {
    return engine::request_check::opcode_sequence(view) == RequestVerdict::Accept
               ? RequestVerdict::Accept
               : RequestVerdict::Drop;
}

struct Refused {
    std::optional<wire::Psn> psn; // by the newest RNR NAK
    std::vector<std::byte> zeros;
};

class LosesRefusedData final : public QpFilter<Refused> {
  protected:
    void arrives(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        if (!packet.info().carries_payload() || qp.memory.psn != packet.bth.psn) return;
        qp.memory.zeros.assign(packet.body.size(), std::byte{});
        packet.body = qp.memory.zeros;
    }
    void leaves(Qp& qp, Passage& passage) override {
        if (is_rnr_nak(passage.packet)) qp.memory.psn = passage.packet.bth.psn;
    }
};

class LosesWriteImmediate final : public engine::SurfaceFilter {
  public:
    std::optional<engine::Completion> completion(const engine::Completion& completion) override {
        engine::Completion seen = completion;
        if (seen.opcode == engine::WcOpcode::RecvRdmaWithImm && seen.imm) seen.imm = 0;
        return seen;
    }
};

class TellsLastPacket final : public engine::SurfaceFilter {
  public:
    std::optional<engine::Completion> completion(const engine::Completion& completion) override {
        constexpr std::uint32_t smallest_mtu = 256;
        engine::Completion seen = completion;
        if (seen.opcode == engine::WcOpcode::RecvRdmaWithImm && seen.byte_len > smallest_mtu) {
            seen.byte_len = (seen.byte_len - 1) % smallest_mtu + 1;
        }
        return seen;
    }
};

class CountsPad final : public engine::SurfaceFilter {
  public:
    std::optional<engine::Completion> completion(const engine::Completion& completion) override {
        engine::Completion seen = completion;
        if (seen.queue == engine::Queue::Receive) seen.byte_len = (seen.byte_len + 3) / 4 * 4;
        return seen;
    }
};

class KeepsKeys final : public QpFilter<Nothing> {
  protected:
    void arrives(Qp& /*qp*/, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        if (packet.info().invalidates()) set_place(packet, packet.info().position);
    }
};

void half_add(wire::Packet& packet) {
    if (packet.info().operation == wire::Operation::FetchAdd) {
        packet.atomic.swap_or_add &= 0xFFFFFFFF;
    }
}

void access_as_gap(wire::Packet& packet) {
    if (has_aeth(packet) && packet.aeth.syndrome.kind() == wire::AckKind::Nak &&
        packet.aeth.syndrome.nak_code() == wire::NakCode::RemoteAccess) {
        packet.aeth.syndrome = wire::Syndrome::nak(wire::NakCode::PsnSequence);
    }
}

void reserved_as_ack(wire::Packet& packet) {
    constexpr std::uint8_t first_reserved = 4;
    constexpr std::uint8_t no_credits = 31;
    if (has_aeth(packet) && packet.aeth.syndrome.kind() == wire::AckKind::Nak &&
        packet.aeth.syndrome.code() >= first_reserved) {
        packet.aeth.syndrome = {no_credits};
    }
}

class NamesTheNext final : public engine::SurfaceFilter {
  public:
    std::optional<engine::Completion> completion(const engine::Completion& completion) override {
        engine::Completion seen = completion;
        const bool failed =
            seen.status != engine::WcStatus::Success && seen.status != engine::WcStatus::WrFlushErr;
        if (failed && seen.queue == engine::Queue::Send) ++seen.id;
        return seen;
    }
};

class MixesStatus final : public engine::SurfaceFilter {
  public:
    std::optional<engine::Completion> completion(const engine::Completion& completion) override {
        engine::Completion seen = completion;
        if (seen.status == engine::WcStatus::RemAccessErr) {
            seen.status = engine::WcStatus::RemInvReqErr;
        }
        return seen;
    }
};

constexpr std::array kMutants{
    Mutant{.name = "old_write_executed_again",
           .rule = "RSP-15",
           .description = "A duplicate WRITE ONLY is written to memory again and raises the MSN.",
           .cases = "rsp/duplicate-write",
           .checks =
               engine::kStandardChecks.with(engine::RequestCheck::ExpectedPsn, write_duplicate),
           .make_filter = make<ShiftsPsns<executed_write_again>>},
    Mutant{.name = "illegal_opcode_dropped_in_silence",
           .rule = "OPC-01",
           .description = "An opcode that may not follow is dropped without a NAK.",
           .cases = "opc/inside-a-send opc/inside-a-write opc/matrix opc/without-first",
           .checks =
               engine::kStandardChecks.with(engine::RequestCheck::OpcodeSequence, drop_illegal)},
    Mutant{.name = "retried_write_imm_writes_zeros",
           .rule = "RNR-06",
           .description = "What is sent again after an RNR NAK arrives as zeros.",
           .cases = "rnr/write-with-immediate",
           .make_filter = make<LosesRefusedData>},
    Mutant{.name = "immediate_of_write_lost",
           .rule = "N-15",
           .description = "WRITEs with immediate data deliver 0.",
           .cases = "ext/unreliable-writes len/zero-length-write rnr/write-with-immediate "
                    "rsp/duplicate-write-imm",
           .make_filter = make<LosesWriteImmediate>},
    Mutant{.name = "write_imm_tells_its_last_packet",
           .rule = "N-15",
           .description = "The byte length of a WRITE with immediate is that of its last packet.",
           .cases = "len/write-immediate-lengths rnr/write-with-immediate rsp/every-pair",
           .make_filter = make<TellsLastPacket>},
    Mutant{.name = "pad_counted_in_byte_length",
           .rule = "BTH-09",
           .description = "The byte length of a receive counts the pad bytes.",
           .cases = "bth/pad-bytes len/only-good n/receives-in-order",
           .make_filter = make<CountsPad>},
    Mutant{.name = "key_not_invalidated",
           .rule = "KEY-11",
           .description = "SEND with invalidate delivers its data and revokes no key.",
           .cases = "key/invalidate-of-a-window-of-type-1 key/send-with-invalidate "
                    "key/window-invalidated-by-a-long-send",
           .make_filter = make<KeepsKeys>},
    Mutant{.name = "addition_of_the_low_half",
           .rule = "ATM-08",
           .description = "Fetch-and-add adds the low 32 bits of its operand only.",
           .cases = "atm/fetch-add atm/operand-bits",
           .make_filter = make<EditsInbound<half_add>>},
    Mutant{.name = "access_nak_taken_for_a_gap",
           .rule = "REQ-16",
           .description = "NAK Remote Access is taken for a sequence NAK.",
           .cases = "req/nak-remote-access",
           .make_filter = make<EditsInbound<access_as_gap>>},
    Mutant{.name = "reserved_nak_taken_for_an_ack",
           .rule = "REQ-17",
           .description = "NAKs with a reserved code are taken for ACKs of the same PSN.",
           .cases = "req/every-reserved-nak req/reserved-nak",
           .make_filter = make<EditsInbound<reserved_as_ack>>},
    Mutant{.name = "failed_request_named_after_the_next",
           .rule = "REQ-19",
           .description = "A request that fails completes with the id of the next one.",
           .cases = "req/nak-remote-access sta/write-of-bad-memory-behind-another "
                    "tmo/retry-exceeded",
           .make_filter = make<NamesTheNext>},
    Mutant{.name = "access_error_reported_as_invalid_request",
           .rule = "REQ-16",
           .description =
               "NAK Remote Access completes its request as remote invalid request error.",
           .cases = "req/nak-remote-access",
           .make_filter = make<MixesStatus>},
};

} // namespace
} // namespace veriroce::mutants::of_effects

namespace veriroce::mutants {

std::span<const Mutant> effects() {
    return of_effects::kMutants;
}

} // namespace veriroce::mutants
