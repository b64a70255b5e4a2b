// Responders that make a check of some opcodes only, and what their hosts are not told.
#include <algorithm>
#include <map>
#include <set>

#include "conformance/mutants/groups.hpp"
#include "conformance/mutants/psn_shift.hpp"

namespace veriroce::mutants::of_positions {
namespace {

using engine::RequestCheck;
using engine::RequestVerdict;
using engine::RequestView;
using wire::Operation;
using wire::Position;
namespace right = engine::request_check;

// The check is made of all requests but some.
template <engine::RequestFunction Check, bool (*Spared)(const RequestView&)>
RequestVerdict except(const RequestView& view) {
    return Spared(view) ? RequestVerdict::Accept : Check(view);
}

bool write_with(const RequestView& view, Position position) {
    return view.info.operation == Operation::RdmaWrite && view.info.position == position;
}
bool send_with(const RequestView& view, Position position) {
    return view.info.operation == Operation::Send && view.info.position == position;
}

bool write_last(const RequestView& view) {
    return write_with(view, Position::Last);
}
bool write_only(const RequestView& view) {
    return write_with(view, Position::Only);
}
bool write_middle(const RequestView& view) {
    return write_with(view, Position::Middle);
}
bool send_first(const RequestView& view) {
    return send_with(view, Position::First);
}
bool behind_first_of_send(const RequestView& view) {
    return send_with(view, Position::Middle) || send_with(view, Position::Last);
}
bool compare_swap(const RequestView& view) {
    return view.info.operation == Operation::CompareSwap;
}
bool atomic_write(const RequestView& view) {
    return view.info.operation == Operation::AtomicWrite;
}
bool write_of_several(const RequestView& view) {
    return view.info.operation == Operation::RdmaWrite && view.info.position != Position::Only;
}
bool write_with_imm(const RequestView& view) {
    return view.info.operation == Operation::RdmaWrite && view.info.immediate();
}
bool only_with_imm(const RequestView& view) {
    return write_with(view, Position::Only) && view.info.immediate();
}
bool window_key(const RequestView& view) {
    return view.target && view.memory.slot(view.target->rkey.value).kind != engine::KeyKind::Region;
}

template <engine::RequestFunction Check, bool (*Spared)(const RequestView&)>
constexpr engine::Checks sparing(RequestCheck check) {
    return engine::kStandardChecks.with(check, except<Check, Spared>);
}

// ATM-05. The filter marks the duplicates that differ, the engine executes them, and its PSN goes
// on with the extra atomic; the device's does not.
constexpr std::uint8_t kMark = 0x2A;

RequestVerdict execute_marked(const RequestView& view) {
    const RequestVerdict verdict = right::expected_psn(view);
    const bool again = verdict == RequestVerdict::Duplicate && view.packet.bth.reserved6 == kMark &&
                       view.inbound.open == engine::OpenMessage::None;
    return again ? RequestVerdict::Accept : verdict;
}

bool other_operand(const wire::AtomicEth& one, const wire::AtomicEth& other) {
    return one.swap_or_add != other.swap_or_add;
}
bool other_address(const wire::AtomicEth& one, const wire::AtomicEth& other) {
    return one.virtual_address != other.virtual_address;
}
bool executed_atomic_again(const wire::Packet& packet, Told told) {
    return packet.info().operation == Operation::AtomicAcknowledge && told.behind && told.fresh;
}

// BTH-10: a pad count in a MIDDLE takes bytes off its payload.
RequestVerdict pad_count_but_in_middle(const RequestView& view) {
    return view.info.position == Position::Middle ? RequestVerdict::Accept : right::pad_count(view);
}
RequestVerdict length_with_pad_in_middle(const RequestView& view) {
    const bool full = view.packet.body.size() == wire::bytes_of(view.connection.mtu);
    return view.info.position == Position::Middle && full ? RequestVerdict::Accept
                                                          : right::payload_length(view);
}

// N-37
RequestVerdict range_above_one_byte(const RequestView& view) {
    if (view.target && view.memory.slot(view.target->rkey.value).bytes.size() == 1) {
        return RequestVerdict::NakRemoteAccess;
    }
    return right::key_range(view);
}

// RSP-12, RSP-13: what is a duplicate is judged like a new packet, where it differs.
RequestVerdict order_of_duplicates(const RequestView& view) {
    const RequestVerdict verdict = right::expected_psn(view);
    const bool odd = verdict == RequestVerdict::Duplicate &&
                     view.info.position == Position::Middle &&
                     view.inbound.open == engine::OpenMessage::None;
    return odd ? RequestVerdict::NakInvalidRequest : verdict;
}
RequestVerdict duplicate_ends_send(const RequestView& view) {
    const RequestVerdict verdict = right::expected_psn(view);
    const bool inside =
        verdict == RequestVerdict::Duplicate && view.inbound.open == engine::OpenMessage::Send;
    return inside ? RequestVerdict::NakInvalidRequest : verdict;
}

RequestVerdict order_of_duplicate_lasts(const RequestView& view) {
    const RequestVerdict verdict = right::expected_psn(view);
    const bool odd = verdict == RequestVerdict::Duplicate && view.info.position == Position::Last &&
                     view.inbound.open == engine::OpenMessage::None;
    return odd ? RequestVerdict::NakInvalidRequest : verdict;
}

struct Gap {
    bool told = false; // and not yet closed
};

// RSP-06: until a good packet has closed the gap, no other NAK leaves.
class OneNakUntilClosed final : public QpFilter<Gap> {
  protected:
    void leaves(Qp& qp, Passage& passage) override {
        const wire::Packet& packet = passage.packet;
        bool& told = qp.memory.told;
        if (is_sequence_nak(packet)) {
            told = true;
        } else if (is_ack(packet)) {
            told = false;
        } else if (told && packet.info().operation == Operation::Acknowledge &&
                   !is_rnr_nak(packet)) {
            passage.dropped = true;
        }
    }
};

bool empty_write(const RequestView& view) {
    return view.info.operation == Operation::RdmaWrite && view.packet.reth.dma_length == 0 &&
           view.info.starts_message();
}

// ACK-04: an old duplicate draws an ACK for what has not come yet.
class AcknowledgesAhead final : public QpFilter<NewestPsn> {
  protected:
    void leaves(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        if (!packet.info().response()) return;
        const bool old = qp.memory.note(packet.bth.psn);
        if (old && is_ack(packet)) packet.bth.psn = *qp.memory.psn + 1;
    }
};

// BTH-05: the RC opcodes for the WRITEs of UC.
void uc_write_as_rc(wire::Packet& packet) {
    constexpr std::uint8_t uc = 1;
    constexpr unsigned service_shift = 5;
    constexpr std::uint8_t operation_bits = 0x1F;
    if (packet.bth.opcode >> service_shift != uc ||
        packet.info().operation != Operation::RdmaWrite) {
        return;
    }
    packet.bth.opcode &= operation_bits;
}

// LEN-10
class ShortAtLargestMtu final : public QpFilter<Nothing> {
  protected:
    void leaves(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        constexpr std::size_t largest = 4096;
        if (qp.mtu() != wire::Mtu::B4096 || packet.body.size() != largest) return;
        packet.body = packet.body.first(largest - 4);
    }
};

// RSP-09
bool wrapped_write(const engine::OwnedDatagram& datagram) {
    const auto packet = wire::decode_packet(datagram.bytes);
    return packet && packet->info().operation == Operation::RdmaWrite &&
           packet->info().position == Position::Middle && packet->bth.psn.value() == 0;
}

// N-06
bool write_with_pad_bytes(const engine::OwnedDatagram& datagram) {
    const auto packet = wire::decode_packet(datagram.bytes);
    return packet && packet->info().operation == Operation::RdmaWrite &&
           !packet->pad_exceeds_body() &&
           std::ranges::any_of(packet->body.last(packet->bth.pad),
                               [](std::byte byte) { return byte != std::byte{}; });
}

// BTH-16
bool odd_nak(const engine::OwnedDatagram& datagram) {
    const auto packet = wire::decode_packet(datagram.bytes);
    return packet && is_nak(*packet) && (packet->bth.reserved6 > 1 || packet->bth.reserved7 > 1);
}
bool odd_request(const engine::OwnedDatagram& datagram) {
    const auto packet = wire::decode_packet(datagram.bytes);
    return packet && packet->info().request() &&
           (packet->bth.reserved6 > 1 || packet->bth.reserved7 > 1);
}

struct Solicited {
    bool earlier = false; // in a packet of the open message
};

// BTH-13: SE of any packet of a message counts.
class SolicitedByAnyPacket final : public QpFilter<Solicited> {
  protected:
    void arrives(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        if (!packet.info().request()) return;
        qp.memory.earlier |= packet.bth.solicited;
        if (!packet.info().ends_message()) return;
        packet.bth.solicited = qp.memory.earlier;
        qp.memory.earlier = false;
    }
};

// BTH-13: SE of a plain WRITE counts for the next message.
class SolicitedByWrites final : public QpFilter<Solicited> {
  protected:
    void arrives(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        if (!packet.info().request()) return;
        if (packet.info().operation == Operation::RdmaWrite && !packet.info().immediate()) {
            qp.memory.earlier |= packet.bth.solicited;
            return;
        }
        packet.bth.solicited |= qp.memory.earlier;
        qp.memory.earlier = false;
    }
};

void write_imm_not_solicited(wire::Packet& packet) {
    if (packet.info().operation == Operation::RdmaWrite) packet.bth.solicited = false;
}

struct Adds : PsnShift {
    std::map<std::uint32_t, wire::AtomicEth> seen; // by PSN
};

template <bool (*Differs)(const wire::AtomicEth&, const wire::AtomicEth&)>
class ExecutesOtherAtomics final : public ShiftsPsns<executed_atomic_again, Adds> {
    using Shifts = ShiftsPsns<executed_atomic_again, Adds>;

  protected:
    void arrives(Shifts::Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        if (packet.info().operation == Operation::FetchAdd) {
            const auto [known, added] =
                qp.memory.seen.try_emplace(packet.bth.psn.value(), packet.atomic);
            if (!added && Differs(known->second, packet.atomic)) packet.bth.reserved6 = kMark;
        }
        Shifts::arrives(qp, passage);
    }
};

struct Unfinished {
    std::optional<wire::Psn> psn; // of the newest packet inside a message
};

class CountsUnfinished final : public QpFilter<Unfinished> {
  protected:
    void arrives(Qp& qp, Passage& passage) override {
        const wire::Packet& packet = passage.packet;
        if (!packet.info().request()) return;
        qp.memory.psn.reset();
        if (!packet.info().ends_message()) qp.memory.psn = packet.bth.psn;
    }
    void leaves(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        if (is_ack(packet) && qp.memory.psn == packet.bth.psn) {
            packet.aeth.msn = packet.aeth.msn + 1;
        }
    }
};

struct NewestRequest {
    wire::Psn psn;
    bool counts = false;
    std::uint32_t more = 0; // in the MSN, up to it
};

// ACK-07: messages of one kind are counted twice.
template <bool (*Twice)(const wire::Packet&)>
class CountsTwice final : public QpFilter<NewestRequest> {
  protected:
    void arrives(Qp& qp, Passage& passage) override {
        const wire::Packet& packet = passage.packet;
        if (!packet.info().request()) return;
        qp.memory.psn = packet.bth.psn;
        qp.memory.counts = Twice(packet);
    }
    void leaves(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        if (!packet.info().response() || !has_aeth(packet)) return;
        if (qp.memory.counts && packet.bth.psn == qp.memory.psn && is_ack(packet)) {
            ++qp.memory.more;
            qp.memory.counts = false;
        }
        packet.aeth.msn = packet.aeth.msn + static_cast<std::int32_t>(qp.memory.more);
    }
};

bool ends_with_invalidate(const wire::Packet& packet) {
    return packet.info().invalidates();
}
bool ends_write_with_imm(const wire::Packet& packet) {
    return packet.info().operation == Operation::RdmaWrite && packet.info().immediate() &&
           packet.info().position == Position::Last;
}

bool ends_send_with_invalidate(const wire::Packet& packet) {
    return packet.info().invalidates() && packet.info().position == Position::Last;
}

constexpr std::string_view kSendOnlyImm = "SEND_ONLY_WITH_IMM";
constexpr std::string_view kSendOnlyInv = "SEND_ONLY_WITH_INV";

// OPC-03: such a LAST without a packet before it is taken for a whole SEND.
template <bool (*Concerned)(const wire::Packet&), const std::string_view& Whole>
class TakesOrphans final : public QpFilter<Unfinished> {
  protected:
    void arrives(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        if (!packet.info().request()) return;
        const auto open = qp.memory.psn;
        qp.memory.psn.reset();
        if (!packet.info().ends_message()) qp.memory.psn = packet.bth.psn;
        const bool goes_on = open && *open + 1 == packet.bth.psn;
        if (goes_on || !Concerned(packet)) return;
        packet.bth.opcode = *wire::opcode_by_name(Whole);
        packet.headers = packet.info().headers;
    }
};

void invalid_request_counted(wire::Packet& packet) {
    if (packet.info().operation == Operation::Acknowledge && has_aeth(packet) &&
        packet.aeth.syndrome.kind() == wire::AckKind::Nak &&
        packet.aeth.syndrome.nak_code() == wire::NakCode::InvalidRequest) {
        packet.aeth.msn = packet.aeth.msn + 1;
    }
}

// STA-07: after an error of a request the receives, which are not concerned, stay where they are.
class KeepsReceives final : public engine::SurfaceFilter {
  public:
    std::optional<engine::Completion> completion(const engine::Completion& completion) override {
        const bool flushed = completion.status == engine::WcStatus::WrFlushErr;
        if (completion.queue == engine::Queue::Receive) {
            const bool kept = flushed && failed_.contains(completion.qp);
            return kept ? std::nullopt : std::optional(completion);
        }
        if (!flushed && completion.status != engine::WcStatus::Success) {
            failed_.insert(completion.qp);
        }
        return completion;
    }

  private:
    std::set<engine::QpId> failed_; // QPs with a request that failed
};

// STA-07: after a NAK that ends the QP its requests, which are not concerned, stay where they are.
class KeepsRequests final : public engine::SurfaceFilter {
  public:
    void qp_changed(const engine::QpReport& report) override {
        if (report.state == engine::QpState::Reset) refused_ = false;
    }
    void outbound(engine::OwnedDatagram datagram, wire::Instant /*now*/,
                  std::vector<engine::OwnedDatagram>& out) override {
        const auto packet = wire::decode_packet(datagram.bytes);
        refused_ |= packet && is_nak(*packet) && !is_rnr_nak(*packet) && !is_sequence_nak(*packet);
        out.push_back(std::move(datagram));
    }
    std::optional<engine::Completion> completion(const engine::Completion& completion) override {
        const bool flushed = completion.status == engine::WcStatus::WrFlushErr;
        if (refused_ && flushed && completion.queue == engine::Queue::Send) return std::nullopt;
        return completion;
    }

  private:
    bool refused_ = false;
};

// KEY-11
class TellsSuccess final : public engine::SurfaceFilter {
  public:
    std::optional<engine::Completion> completion(const engine::Completion& completion) override {
        engine::Completion seen = completion;
        const bool fault =
            seen.status != engine::WcStatus::Success && seen.status != engine::WcStatus::WrFlushErr;
        if (seen.queue == engine::Queue::Receive && fault) {
            seen.status = engine::WcStatus::Success;
        }
        return seen;
    }
};

constexpr engine::Checks with_order(engine::RequestFunction function) {
    return engine::kStandardChecks.with(RequestCheck::ExpectedPsn, function);
}

constexpr std::array kMutants{
    Mutant{.name = "orphan_last_of_write_imm_accepted",
           .rule = "OPC-03",
           .description = "A WRITE LAST WITH IMMEDIATE without a FIRST is taken for a SEND.",
           .cases = "opc/last-without-first",
           .make_filter = make<TakesOrphans<ends_write_with_imm, kSendOnlyImm>>},
    Mutant{.name = "orphan_last_with_invalidate_accepted",
           .rule = "OPC-03",
           .description = "A SEND LAST WITH INVALIDATE without a FIRST is executed as an ONLY.",
           .cases = "opc/last-with-invalidate-without-first",
           .make_filter = make<TakesOrphans<ends_send_with_invalidate, kSendOnlyInv>>},
    Mutant{.name = "length_of_write_last_not_checked",
           .rule = "LEN-02",
           .description = "A WRITE LAST of any length is accepted.",
           .cases = "len/write-last",
           .checks = sparing<right::payload_length, write_last>(RequestCheck::PayloadLength)},
    Mutant{.name = "length_of_write_only_not_checked",
           .rule = "LEN-03",
           .description = "A WRITE ONLY above the path MTU is accepted.",
           .cases = "len/write-only",
           .checks = sparing<right::payload_length, write_only>(RequestCheck::PayloadLength)},
    Mutant{.name = "length_of_write_middle_not_checked",
           .rule = "LEN-01",
           .description = "A WRITE MIDDLE of any length is accepted.",
           .cases = "len/write-middle",
           .checks = sparing<right::payload_length, write_middle>(RequestCheck::PayloadLength)},
    Mutant{.name = "length_of_send_first_not_checked",
           .rule = "LEN-01",
           .description = "A SEND FIRST of any length is accepted.",
           .cases = "len/send-first",
           .checks = sparing<right::payload_length, send_first>(RequestCheck::PayloadLength)},
    Mutant{.name = "overflow_behind_the_first_accepted",
           .rule = "LEN-06",
           .description = "Whether a SEND fits its receive is looked at in FIRST and ONLY alone.",
           .cases = "len/receive-too-small-later",
           .checks = sparing<right::receive_room, behind_first_of_send>(RequestCheck::ReceiveRoom)},
    Mutant{.name = "atomic_write_of_any_length",
           .rule = "ROB-03",
           .description = "The length in the RETH of an ATOMIC WRITE is not looked at.",
           .cases = "ext/empty-atomic-write",
           .checks = sparing<right::message_length, atomic_write>(RequestCheck::MessageLength)},
    Mutant{.name = "misaligned_compare_swap_executed",
           .rule = "ATM-02",
           .description = "COMPARE_SWAP is executed at any address.",
           .cases = "atm/misaligned-compare-swap",
           .checks = sparing<right::atomic_alignment, compare_swap>(RequestCheck::AtomicAlignment)},
    Mutant{.name = "rights_of_long_writes_not_checked",
           .rule = "KEY-04",
           .description = "A WRITE of several packets needs no right to its region.",
           .cases = "key/long-write",
           .checks = sparing<right::key_rights, write_of_several>(RequestCheck::KeyRights)},
    Mutant{.name = "domain_of_write_imm_not_compared",
           .rule = "KEY-03",
           .description = "A WRITE with immediate may name a key of another protection domain.",
           .cases = "key/write-with-immediate",
           .checks = sparing<right::key_domain, write_with_imm>(RequestCheck::KeyDomain)},
    Mutant{.name = "send_first_needs_no_receive",
           .rule = "RNR-01",
           .description = "A SEND FIRST is acknowledged though no receive is posted.",
           .cases = "rnr/first",
           .checks = sparing<right::receive_ready, send_first>(RequestCheck::ReceiveReady)},
    Mutant{.name = "write_only_imm_needs_no_receive",
           .rule = "RNR-02",
           .description = "A WRITE ONLY WITH IMMEDIATE is executed though no receive is posted.",
           .cases = "rnr/only-with-immediate",
           .checks = sparing<right::receive_ready, only_with_imm>(RequestCheck::ReceiveReady)},
    Mutant{.name = "window_open_to_every_qp",
           .rule = "KEY-09",
           .description = "A memory window serves QPs that it is not bound to.",
           .cases = "key/window-of-another-qp",
           .checks = sparing<right::key_domain, window_key>(RequestCheck::KeyDomain)},
    Mutant{.name = "atomic_with_another_operand_executed_again",
           .rule = "ATM-05",
           .description = "A duplicate FETCH_ADD with another operand is executed.",
           .cases = "atm/duplicate-with-other-operand",
           .checks = with_order(execute_marked),
           .make_filter = make<ExecutesOtherAtomics<other_operand>>},
    Mutant{.name = "atomic_at_another_address_executed_again",
           .rule = "ATM-05",
           .description = "A duplicate FETCH_ADD with another address is executed.",
           .cases = "atm/duplicate-at-other-address",
           .checks = with_order(execute_marked),
           .make_filter = make<ExecutesOtherAtomics<other_address>>},
    Mutant{.name = "unfinished_message_counted",
           .rule = "ACK-08",
           .description = "An ACK inside a message carries the MSN with that message.",
           .cases = "ack/inside-a-message",
           .make_filter = make<CountsUnfinished>},
    Mutant{.name = "send_with_invalidate_counted_twice",
           .rule = "ACK-07",
           .description = "A SEND with invalidate counts two messages in the MSN.",
           .cases = "key/send-with-invalidate",
           .make_filter = make<CountsTwice<ends_with_invalidate>>},
    Mutant{.name = "long_write_imm_counted_twice",
           .rule = "ACK-07",
           .description = "A WRITE with immediate of several packets counts two messages in the "
                          "MSN.",
           .cases = "rnr/write-with-immediate",
           .make_filter = make<CountsTwice<ends_write_with_imm>>},
    Mutant{.name = "invalid_request_counted",
           .rule = "ACK-08",
           .description = "NAK Invalid Request carries the MSN with the message that it refuses.",
           .cases = "ack/refused-by-its-form opc/without-first",
           .make_filter = make<EditsOutbound<invalid_request_counted>>},
    Mutant{.name = "receives_not_flushed_after_a_request_failed",
           .rule = "STA-07",
           .description = "When a request fails, the QP's receives are not flushed.",
           .cases = "sta/request-fails-receives-flushed",
           .make_filter = make<KeepsReceives>},
    Mutant{.name = "other_queue_not_flushed",
           .rule = "STA-07",
           .description = "When the responder ends the QP by a NAK, its requests are not flushed.",
           .cases = "sta/fatal-nak-requests-flushed",
           .make_filter = make<KeepsRequests>},
    Mutant{.name = "faulty_receive_succeeds",
           .rule = "KEY-11",
           .description =
               "A receive that fails completes with SUCCESS; the QP is in ERR behind it.",
           .cases = "bth/solicited-failed-receive key/invalidate-nothing "
                    "len/failed-shared-receive-is-gone len/receive-too-small "
                    "len/shared-receives-of-fewer-pieces",
           .make_filter = make<TellsSuccess>},
    Mutant{.name = "pad_of_middle_ignored",
           .rule = "BTH-10",
           .description = "A full MIDDLE with a pad count is accepted.",
           .cases = "bth/pad-in-middle",
           .checks = engine::kStandardChecks.with(RequestCheck::PadCount, pad_count_but_in_middle)
                         .with(RequestCheck::PayloadLength, length_with_pad_in_middle)},
    Mutant{.name = "one_byte_region_refused",
           .rule = "N-37",
           .description = "Requests to a region of one byte get NAK Remote Access.",
           .cases = "n/region-of-one-byte",
           .checks = engine::kStandardChecks.with(RequestCheck::KeyRange, range_above_one_byte)},
    Mutant{.name = "order_of_duplicates_checked",
           .rule = "RSP-12",
           .description = "A duplicate MIDDLE outside a message gets NAK Invalid Request.",
           .cases = "rsp/order-fault-in-duplicate",
           .checks = with_order(order_of_duplicates)},
    Mutant{.name = "order_of_duplicate_lasts_checked",
           .rule = "RSP-10",
           .description = "The LAST of a message that comes again gets NAK Invalid Request.",
           .cases = "rsp/duplicate-last",
           .checks = with_order(order_of_duplicate_lasts)},
    Mutant{.name = "no_fatal_nak_after_a_sequence_nak",
           .rule = "KEY-02",
           .description = "After a sequence NAK a faulty request at the expected PSN gets no NAK.",
           .cases = "key/fault-after-a-gap",
           .make_filter = make<OneNakUntilClosed>},
    Mutant{.name = "range_of_long_writes_not_checked",
           .rule = "KEY-05",
           .description = "A WRITE of several packets may leave its region.",
           .cases = "key/long-write-out-of-range",
           .checks = sparing<right::key_range, write_of_several>(RequestCheck::KeyRange)},
    Mutant{.name = "empty_write_needs_no_right",
           .rule = "LEN-08",
           .description = "A WRITE of zero bytes is executed on a QP that allows no WRITEs.",
           .cases = "len/zero-length-write-not-allowed",
           .checks = sparing<right::rights, empty_write>(RequestCheck::Rights)},
    Mutant{.name = "duplicate_acknowledged_ahead",
           .rule = "ACK-04",
           .description = "A duplicate draws an ACK for the PSN that is expected.",
           .cases = "rsp/far-behind-asks-for-an-ack",
           .make_filter = make<AcknowledgesAhead>},
    Mutant{.name = "uc_writes_executed",
           .rule = "BTH-05",
           .description = "A UC WRITE to an RC QP is executed and acknowledged.",
           .cases = "bth/service-class-write ext/unreliable-write-shows-a-gap",
           .make_filter = make<EditsInbound<uc_write_as_rc>>},
    Mutant{.name = "full_packets_short_at_largest_mtu",
           .rule = "LEN-10",
           .description = "With a path MTU of 4096, full packets lack their last four bytes.",
           .cases = "len/segments-4096 rdr/responses-4096",
           .make_filter = make<ShortAtLargestMtu>},
    Mutant{.name = "duplicate_ends_the_send",
           .rule = "RSP-13",
           .description = "A duplicate inside an unfinished SEND gets NAK Invalid Request.",
           .cases = "rsp/duplicate-in-a-send",
           .checks = with_order(duplicate_ends_send)},
    Mutant{.name = "write_middle_with_psn_zero_dropped",
           .rule = "RSP-09",
           .description = "A WRITE MIDDLE with PSN 0 is dropped.",
           .cases = "rsp/at-every-power rsp/psn-wrap-write",
           .make_filter = make<DropsInbound<wrapped_write>>},
    Mutant{.name = "nonzero_pad_of_writes_dropped",
           .rule = "N-06",
           .description = "WRITEs whose pad bytes are not zero are dropped.",
           .cases = "bth/pad-bytes-of-a-write",
           .make_filter = make<DropsInbound<write_with_pad_bytes>>},
    Mutant{.name = "naks_with_reserved_bits_dropped",
           .rule = "BTH-16",
           .description = "NAKs with an upper reserved bit of the BTH set are dropped.",
           .cases = "bth/ignored-bits-of-a-nak",
           .make_filter = make<DropsInbound<odd_nak>>},
    Mutant{.name = "requests_with_upper_reserved_bits_dropped",
           .rule = "BTH-16",
           .description = "Requests with an upper reserved bit of the BTH set are dropped.",
           .cases = "bth/ignored-bits bth/reserved-bits-of-reads "
                    "bth/reserved-bits-of-sends",
           .make_filter = make<DropsInbound<odd_request>>},
    Mutant{.name = "solicited_by_any_packet",
           .rule = "BTH-13",
           .description = "SE of a FIRST or MIDDLE counts for its message.",
           .cases = "bth/solicited-first",
           .make_filter = make<SolicitedByAnyPacket>},
    Mutant{.name = "solicited_by_a_plain_write",
           .rule = "BTH-13",
           .description = "SE of a plain WRITE counts for the next message.",
           .cases = "bth/solicited-write",
           .make_filter = make<SolicitedByWrites>},
    Mutant{.name = "write_imm_never_solicited",
           .rule = "N-26",
           .description = "SE of a WRITE with immediate is ignored.",
           .cases = "bth/solicited-write",
           .make_filter = make<EditsInbound<write_imm_not_solicited>>},
};

} // namespace
} // namespace veriroce::mutants::of_positions

namespace veriroce::mutants {

std::span<const Mutant> positions() {
    return of_positions::kMutants;
}

} // namespace veriroce::mutants
