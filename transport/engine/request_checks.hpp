// The responder's checks of a request. The engine calls them in this order until one does not
// accept, so the order is the precedence of faults (KEY-10, where devices lawfully differ).
#pragma once

#include "transport/engine/check_list.hpp"
#include "transport/engine/view.hpp"

namespace veriroce::engine {

enum class RequestVerdict : std::uint8_t {
    Accept,
    Drop,        // silently
    Duplicate,   // RSP-08: answered again by the duplicate's rules
    NakSequence, // RSP-02
    NakInvalidRequest,
    NakRemoteAccess,
    NakRemoteOperational,
    Rnr,          // RNR-01
    FailSilently, // KEY-11: the QP ends without an answer
};

enum class RequestCheck : std::uint8_t {
    State,
    OneNak,
    ExpectedPsn,
    KnownOpcode,
    OpcodeSequence,
    Rights,
    ReplyResources,
    ReceiveReady,
    PadCount,
    PayloadLength,
    MessageLength,
    AtomicAlignment,
    ReceiveRoom,
    ReceiveMemory,
    KeyKnown,
    KeyVariant,
    KeyDomain,
    KeyRights,
    KeyRange,
    FlushKind,
    InvalidateKey,
};

namespace request_check {
RequestVerdict state(const RequestView& view);
RequestVerdict one_nak(const RequestView& view);
RequestVerdict expected_psn(const RequestView& view);
RequestVerdict known_opcode(const RequestView& view);
RequestVerdict opcode_sequence(const RequestView& view);
RequestVerdict rights(const RequestView& view);
RequestVerdict reply_resources(const RequestView& view);
RequestVerdict receive_ready(const RequestView& view);
RequestVerdict pad_count(const RequestView& view);
RequestVerdict payload_length(const RequestView& view);
RequestVerdict message_length(const RequestView& view);
RequestVerdict atomic_alignment(const RequestView& view);
RequestVerdict receive_room(const RequestView& view);
RequestVerdict receive_memory(const RequestView& view);
RequestVerdict key_known(const RequestView& view);
RequestVerdict key_variant(const RequestView& view);
RequestVerdict key_domain(const RequestView& view);
RequestVerdict key_rights(const RequestView& view);
RequestVerdict key_range(const RequestView& view);
RequestVerdict flush_kind(const RequestView& view);
RequestVerdict invalidate_key(const RequestView& view);
} // namespace request_check

using RequestFunction = RequestVerdict(const RequestView&);
using RequestRow = CheckRow<RequestCheck, RequestFunction>;

inline constexpr std::array kRequestRows{
    RequestRow{RequestCheck::State, "state", "STA-01, STA-02, STA-07", request_check::state},
    RequestRow{RequestCheck::OneNak, "one-nak", "RSP-03, RSP-05, RNR-04", request_check::one_nak},
    RequestRow{RequestCheck::ExpectedPsn, "expected-psn", "RSP-01, RSP-02, RSP-08",
               request_check::expected_psn},
    RequestRow{RequestCheck::KnownOpcode, "known-opcode", "BTH-06", request_check::known_opcode},
    RequestRow{RequestCheck::OpcodeSequence, "opcode-sequence",
               "OPC-01, OPC-02, OPC-03, OPC-04, OPC-05, OPC-10", request_check::opcode_sequence},
    RequestRow{RequestCheck::Rights, "rights", "KEY-01, OPC-09", request_check::rights},
    RequestRow{RequestCheck::ReplyResources, "reply-resources", "RDR-09, RDR-10, N-28",
               request_check::reply_resources},
    RequestRow{RequestCheck::ReceiveReady, "receive-ready", "RNR-01, RNR-02",
               request_check::receive_ready},
    RequestRow{RequestCheck::PadCount, "pad-count", "BTH-10, BTH-12", request_check::pad_count},
    RequestRow{RequestCheck::PayloadLength, "payload-length", "LEN-01, LEN-02, LEN-03, ATM-07",
               request_check::payload_length},
    RequestRow{RequestCheck::MessageLength, "message-length", "LEN-04, LEN-05, LEN-11",
               request_check::message_length},
    RequestRow{RequestCheck::AtomicAlignment, "atomic-alignment", "ATM-02, EXT-01",
               request_check::atomic_alignment},
    RequestRow{RequestCheck::ReceiveRoom, "receive-room", "LEN-06", request_check::receive_room},
    RequestRow{RequestCheck::ReceiveMemory, "receive-memory", "KEY-12",
               request_check::receive_memory},
    RequestRow{RequestCheck::KeyKnown, "key-known", "KEY-02, KEY-07", request_check::key_known,
               CheckGroup::Key},
    RequestRow{RequestCheck::KeyVariant, "key-variant", "KEY-08", request_check::key_variant,
               CheckGroup::Key},
    RequestRow{RequestCheck::KeyDomain, "key-domain", "KEY-03, KEY-09", request_check::key_domain,
               CheckGroup::Key},
    RequestRow{RequestCheck::KeyRights, "key-rights", "KEY-04", request_check::key_rights,
               CheckGroup::Key},
    RequestRow{RequestCheck::KeyRange, "key-range", "KEY-05, KEY-06", request_check::key_range,
               CheckGroup::Key},
    RequestRow{RequestCheck::FlushKind, "flush-kind", "EXT-03, N-29", request_check::flush_kind},
    RequestRow{RequestCheck::InvalidateKey, "invalidate-key", "KEY-11",
               request_check::invalidate_key},
};
static_assert(in_order(kRequestRows));

constexpr const auto& rows_of(RequestCheck /*list*/) {
    return kRequestRows;
}

} // namespace veriroce::engine
