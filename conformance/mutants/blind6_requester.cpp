// Written blind, sixth sample: what a requester sends, sends again and makes of answers, and what
// its host sees.
#include <map>
#include <set>

#include "conformance/mutants/blind.hpp"
#include "conformance/mutants/groups.hpp"
#include "conformance/mutants/read_log.hpp"

namespace veriroce::mutants::of_blind6_requester {
namespace {

using engine::Completion;
using engine::SurfaceFilter;
using engine::WrOpcode;
using wire::Operation;
using wire::Position;

// --- requests that are sent again

class ResentRevokesNothing final : public FollowsRequests<Outgoing> {
  protected:
    void request_leaves(Qp& /*qp*/, wire::Packet& packet, bool again) override {
        if (again && packet.headers.has(wire::Header::Ieth)) packet.ieth.rkey = {};
    }
};

class ResentNotSolicited final : public FollowsRequests<Outgoing> {
  protected:
    void request_leaves(Qp& /*qp*/, wire::Packet& packet, bool again) override {
        if (again) packet.bth.solicited = false;
    }
};

struct AskedReads : Outgoing {
    ReadLog log;
};

class RestartRoundsUp final : public FollowsRequests<AskedReads> {
  protected:
    void request_leaves(Qp& qp, wire::Packet& packet, bool again) override {
        if (!is_read_request(packet)) return;
        if (!again) qp.memory.log.note(packet, qp.mtu());
        const auto whole = qp.memory.log.holding(packet.bth.psn);
        if (!again || !whole || whole->request.bth.psn == packet.bth.psn) return;
        packet.reth.dma_length =
            wire::packets_of(packet.reth.dma_length, qp.mtu()) * wire::bytes_of(qp.mtu());
    }
};

struct Operands : Outgoing {
    std::optional<wire::Psn> newest; // of an atomic
    std::uint64_t operand = 0;       // of that one
};

class PipelinedAtomicsShareOperand final : public FollowsRequests<Operands> {
  protected:
    void request_leaves(Qp& qp, wire::Packet& packet, bool again) override {
        Operands& memory = qp.memory;
        if (again || !is_atomic_request(packet)) return;
        const std::uint64_t operand = packet.atomic.swap_or_add;
        const bool together = memory.newest && memory.holds(*memory.newest);
        if (together) packet.atomic.swap_or_add = memory.operand;
        memory.newest = packet.bth.psn;
        memory.operand = operand;
    }
};

// --- answers

struct Inside : Outgoing {
    std::set<std::uint32_t> inside; // PSNs that do not end their message
};

class AckInsideIgnored final : public FollowsRequests<Inside> {
  protected:
    void request_leaves(Qp& qp, wire::Packet& packet, bool /*again*/) override {
        auto& inside = qp.memory.inside;
        if (packet.info().ends_message()) {
            inside.erase(packet.bth.psn.value());
        } else {
            inside.insert(packet.bth.psn.value());
        }
    }
    void answer_arrives(Qp& qp, Passage& passage) override {
        const wire::Packet& packet = passage.packet;
        passage.dropped = is_ack(packet) && qp.memory.inside.contains(packet.bth.psn.value());
    }
};

struct Atomics : Outgoing {
    std::set<std::uint32_t> asked; // PSNs of atomics
    bool resent = false;           // something was, on this connection
};

class RepeatedAnswerTakenForNext final : public FollowsRequests<Atomics> {
  protected:
    void request_leaves(Qp& qp, wire::Packet& packet, bool again) override {
        qp.memory.resent |= again;
        if (is_atomic_request(packet)) qp.memory.asked.insert(packet.bth.psn.value());
    }
    void answer_arrives(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        const Atomics& memory = qp.memory;
        if (packet.info().operation != Operation::AtomicAcknowledge || !memory.oldest) return;
        const wire::Psn oldest = *memory.oldest;
        const bool old = memory.resent && wire::distance(packet.bth.psn, oldest) > 0;
        if (old && memory.holds(oldest) && memory.asked.contains(oldest.value())) {
            packet.bth.psn = oldest;
        }
    }
};

class FatalNakAfterResendIgnored final : public FollowsRequests<Outgoing> {
  protected:
    void answer_arrives(Qp& qp, Passage& passage) override {
        const wire::Packet& packet = passage.packet;
        const bool fatal = is_nak(packet) && !is_rnr_nak(packet) && !is_sequence_nak(packet);
        passage.dropped = fatal && qp.memory.again && qp.memory.holds(packet.bth.psn);
    }
};

// With eight or more requests that ask for no completion in front of one that does, the next ACK is
// taken for one of that.
class AckOfSilentRunTakesAll final : public FollowsRequests<Outgoing> {
  public:
    void posting_send(wire::Qpn qpn, engine::SendRequest& request) override {
        constexpr std::uint32_t long_run = 8;
        Run& run = runs_[qpn];
        if (engine::wants_response(request.opcode)) run = {};
        if (!request.flags.signaled) {
            ++run.silent;
        } else {
            run.complete |= run.silent >= long_run;
            run.silent = 0;
        }
    }

  protected:
    void answer_arrives(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        bool& complete = runs_[qp.report.qpn].complete;
        if (!complete || !is_ack(packet) || !qp.memory.holds(packet.bth.psn)) return;
        packet.bth.psn = *qp.memory.sent.psn;
        complete = false;
    }

  private:
    struct Run {
        std::uint32_t silent = 0; // posted last
        bool complete = false;
    };
    std::map<wire::Qpn, Run> runs_;
};

void timer_code_of_four_bits(wire::Packet& packet) {
    constexpr unsigned heard = 0xF;
    if (!is_rnr_nak(packet)) return;
    packet.aeth.syndrome =
        wire::Syndrome::rnr(static_cast<std::uint8_t>(packet.aeth.syndrome.code() & heard));
}

class OldAckEndsRnrWait final : public KeepsCopies {
  protected:
    void arrives(Qp& qp, Passage& passage) override {
        const wire::Packet& packet = passage.packet;
        Copies& memory = qp.memory;
        if (is_rnr_nak(packet)) {
            acknowledge_until(memory, packet.bth.psn - 1);
            memory.waits = packet.bth.psn;
        } else if (is_ack(packet)) {
            const bool old = memory.oldest && wire::distance(packet.bth.psn, *memory.oldest) > 0;
            if (old && memory.waits) {
                send_again(memory, *memory.waits, passage);
                memory.waits.reset();
            }
            acknowledge_until(memory, packet.bth.psn);
        } else if (packet.info().response()) {
            acknowledge_until(memory, packet.bth.psn);
        }
    }
};

// --- work requests

// A filter that changes the pieces of a work request; `Edit` says whether it did.
template <bool (*Edit)(const engine::SendRequest&, std::vector<engine::Sge>&)>
class EditsPieces final : public SurfaceFilter {
  public:
    void posting_send(wire::Qpn /*qpn*/, engine::SendRequest& request) override {
        std::vector<engine::Sge> pieces(request.sges.begin(), request.sges.end());
        if (!Edit(request, pieces)) return;
        pieces_ = std::move(pieces);
        request.sges = pieces_;
    }

  private:
    std::vector<engine::Sge> pieces_; // of the request that is posted
};

bool second_inline_piece_is_first(const engine::SendRequest& request,
                                  std::vector<engine::Sge>& pieces) {
    if (!request.flags.inline_data || pieces.size() < 2) return false;
    pieces[1].address = pieces[0].address;
    return true;
}

bool read_pieces_swapped(const engine::SendRequest& request, std::vector<engine::Sge>& pieces) {
    if (request.opcode != WrOpcode::RdmaRead || pieces.size() < 3) return false;
    std::swap(pieces[1], pieces[2]);
    return true;
}

class ImmediateZeroNotSent final : public SurfaceFilter {
  public:
    void posting_send(wire::Qpn /*qpn*/, engine::SendRequest& request) override {
        if (request.opcode == WrOpcode::SendWithImm && request.imm == 0) {
            request.opcode = WrOpcode::Send;
        }
    }
};

void address_of_48_bits(wire::Packet& packet) {
    constexpr std::uint64_t sent = 0xFFFF'FFFF'FFFF;
    if (packet.headers.has(wire::Header::Reth)) packet.reth.virtual_address &= sent;
}

// --- what hosts see

class IdsOf32Bits final : public SurfaceFilter {
  public:
    std::optional<Completion> completion(const Completion& completion) override {
        Completion seen = completion;
        seen.id = static_cast<std::uint32_t>(seen.id);
        return seen;
    }
};

class SixteenReceivesFlushed final : public SurfaceFilter {
  public:
    std::optional<Completion> completion(const Completion& completion) override {
        constexpr std::uint32_t most = 16;
        if (completion.queue != engine::Queue::Receive) return completion;
        std::uint32_t& flushed = flushed_[completion.qp];
        flushed = completion.status == engine::WcStatus::WrFlushErr ? flushed + 1 : 0;
        if (flushed > most) return std::nullopt;
        return completion;
    }

  private:
    std::map<engine::QpId, std::uint32_t> flushed_; // in a row
};

// What a QP keeps of its first connection.
class KeepsTimer final : public SurfaceFilter {
  public:
    void modifying(wire::Qpn qpn, engine::QpAttributes& attributes) override {
        if (!attributes.min_rnr_timer || attributes.state != engine::QpState::Rtr) return;
        attributes.min_rnr_timer =
            timers_.try_emplace(qpn, *attributes.min_rnr_timer).first->second;
    }
    void qp_destroyed(wire::Qpn qpn) override { timers_.erase(qpn); }

  private:
    std::map<wire::Qpn, std::uint8_t> timers_;
};

class KeepsRights final : public SurfaceFilter {
  public:
    void modifying(wire::Qpn qpn, engine::QpAttributes& attributes) override {
        if (!attributes.access || attributes.state != engine::QpState::Init) return;
        attributes.access = rights_.try_emplace(qpn, *attributes.access).first->second;
    }
    void qp_destroyed(wire::Qpn qpn) override { rights_.erase(qpn); }

  private:
    std::map<wire::Qpn, engine::Access> rights_;
};

constexpr std::array kMutants{
    Mutant{.name = "resent_invalidate_names_key_zero",
           .rule = "REQ-34",
           .description = "A SEND with invalidate that is sent again names key 0.",
           .make_filter = make<ResentRevokesNothing>},
    Mutant{.name = "solicited_lost_when_resent",
           .rule = "REQ-34",
           .description = "What is sent again has no SE bit.",
           .make_filter = make<ResentNotSolicited>},
    Mutant{.name = "read_restart_rounds_length_up",
           .rule = "REQ-10",
           .description = "A READ that is asked for from its middle asks for whole packets.",
           .make_filter = make<RestartRoundsUp>},
    Mutant{.name = "pipelined_atomics_share_operand",
           .rule = "ATM-01",
           .description = "An atomic that leaves while another one is unanswered has that one's "
                          "operand.",
           .make_filter = make<PipelinedAtomicsShareOperand>},
    Mutant{.name = "ack_inside_message_is_no_progress",
           .rule = "REQ-14",
           .description = "An ACK of a FIRST or MIDDLE is ignored.",
           .cases = "tmo/retries-reloaded-inside-a-message",
           .make_filter = make<AckInsideIgnored>},
    Mutant{.name = "repeated_atomic_answer_taken_for_next",
           .rule = "N-38",
           .description = "Once something was sent again, the answer to an atomic that comes twice "
                          "is taken for that of the next atomic.",
           .make_filter = make<RepeatedAnswerTakenForNext>},
    Mutant{.name = "fatal_nak_after_resend_ignored",
           .rule = "REQ-16",
           .description = "A fatal NAK for something that was sent again is ignored.",
           .cases = "req/fatal-nak-after-a-resend",
           .make_filter = make<FatalNakAfterResendIgnored>},
    Mutant{.name = "ack_of_silent_run_completes_all",
           .rule = "REQ-03",
           .description = "With eight unsignaled requests in front of a signaled one the next ACK "
                          "acknowledges all that was sent.",
           .cases = "req/silent-runs",
           .make_filter = make<AckOfSilentRunTakesAll>},
    Mutant{.name = "rnr_timer_code_of_four_bits",
           .rule = "RNR-08",
           .description = "The requester waits for the lower four bits of the timer code.",
           .cases = "rnr/modified-in-the-wait",
           .make_filter = make<EditsInbound<timer_code_of_four_bits>>},
    Mutant{.name = "old_ack_ends_rnr_wait",
           .rule = "RNR-08",
           .description = "An ACK that comes once more during an RNR wait ends the wait.",
           .make_filter = make<OldAckEndsRnrWait>},
    Mutant{.name = "second_inline_piece_repeats_first",
           .rule = "LEN-10",
           .description = "The second piece of inline data is taken from the first one's address.",
           .cases = "req/inline-pieces",
           .make_filter = make<EditsPieces<second_inline_piece_is_first>>},
    Mutant{.name = "read_fills_pieces_out_of_order",
           .rule = "REQ-09",
           .description = "A READ of three or more pieces fills the third before the second.",
           .make_filter = make<EditsPieces<read_pieces_swapped>>},
    Mutant{.name = "immediate_zero_not_sent",
           .rule = "REQ-34",
           .description = "A SEND with immediate data 0 is sent without.",
           .cases = "req/immediate-bits",
           .make_filter = make<ImmediateZeroNotSent>},
    Mutant{.name = "remote_address_of_48_bits",
           .rule = "LEN-10",
           .description = "READs and WRITEs leave with the lower 48 bits of their address.",
           .cases = "req/address-bits",
           .make_filter = make<EditsOutbound<address_of_48_bits>>},
    Mutant{.name = "wr_id_of_32_bits",
           .rule = "REQ-34",
           .description = "Completions have the lower 32 bits of the wr_id.",
           .make_filter = make<IdsOf32Bits>},
    Mutant{.name = "sixteen_receives_flushed",
           .rule = "STA-07",
           .description = "Of the receives of a QP in ERR the first sixteen complete.",
           .cases = "sta/many-flushed",
           .make_filter = make<SixteenReceivesFlushed>},
    Mutant{.name = "rnr_timer_of_first_connection",
           .rule = "STA-10",
           .description = "After RESET a QP keeps the min_rnr_timer of its first connection.",
           .cases = "sta/other-attributes-after-reset",
           .make_filter = make<KeepsTimer>},
    Mutant{.name = "rights_of_first_connection",
           .rule = "STA-10",
           .description = "After RESET a QP keeps the access flags of its first connection.",
           .cases = "sta/other-attributes-after-reset",
           .make_filter = make<KeepsRights>},
};

} // namespace
} // namespace veriroce::mutants::of_blind6_requester

namespace veriroce::mutants {

std::span<const Mutant> blind6_requester() {
    return of_blind6_requester::kMutants;
}

} // namespace veriroce::mutants
