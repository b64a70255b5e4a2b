// The engine's table of named checks: every judgement that the engine passes on a packet, as an
// ordered list of small pure functions. A planted defect is this table with one entry replaced
// (`kStandardChecks.with(RequestCheck::KeyRange, f)`); the engine has no branch that asks for it.
//
// The functions of a list are called in the order of its enumerators until one does not accept;
// that order is the precedence of faults (KEY-10, where devices lawfully differ).
//
// Source: the rules named at each enumerator.
#pragma once

#include <array>
#include <optional>
#include <string_view>

#include "transport/engine/view.hpp"

namespace veriroce::engine {

// Every packet, whatever its role; what fails is dropped in silence.
enum class PacketCheck : std::uint8_t {
    TransportVersion,   // BTH-01
    Service,            // BTH-05
    Pkey,               // BTH-07
    SourceAddress,      // ENC-14
    DestinationAddress, // ENC-13, ENC-14
    Vlan,               // N-05
};
inline constexpr std::size_t kPacketChecks = 6;

enum class RequestVerdict : std::uint8_t {
    Accept,
    Drop,        // in silence
    Duplicate,   // RSP-08: answered again by the duplicate's rules
    NakSequence, // RSP-02
    NakInvalidRequest,
    NakRemoteAccess,
    NakRemoteOperational,
    Rnr,          // RNR-01
    FailSilently, // KEY-11: no answer, and the end of the QP
};

// A request at the responder.
enum class RequestCheck : std::uint8_t {
    State,           // STA-01, STA-02, STA-07
    OneNak,          // RSP-03, RSP-05, RNR-04
    ExpectedPsn,     // RSP-01, RSP-02, RSP-08
    KnownOpcode,     // BTH-06
    OpcodeSequence,  // OPC-01..05, OPC-10
    Rights,          // KEY-01, OPC-09
    ReplyResources,  // RDR-09, RDR-10, N-28
    ReceiveReady,    // RNR-01, RNR-02
    PadCount,        // BTH-10, BTH-12
    PayloadLength,   // LEN-01..03, ATM-07
    MessageLength,   // LEN-04, LEN-05, LEN-11
    AtomicAlignment, // ATM-02, EXT-01
    ReceiveRoom,     // LEN-06
    ReceiveMemory,   // KEY-12
    KeyKnown,        // KEY-02, KEY-07
    KeyVariant,      // KEY-08
    KeyDomain,       // KEY-03
    KeyRights,       // KEY-04
    KeyRange,        // KEY-05
    FlushKind,       // EXT-03, N-29
    InvalidateKey,   // KEY-11
};
inline constexpr std::size_t kRequestChecks = 21;

// A duplicate READ, atomic, FLUSH or ATOMIC WRITE. READs, which are executed again, are then held
// against the Key checks above as well; nothing in a duplicate is NAKed (RSP-12).
enum class DuplicateCheck : std::uint8_t {
    Remembered, // RDR-08, ATM-06
    WithinRead, // RDR-05, RDR-07
    SameAtomic, // ATM-05, EXT-04
};
inline constexpr std::size_t kDuplicateChecks = 3;

// A datagram; what fails is dropped in silence.
enum class DatagramCheck : std::uint8_t {
    State,        // STA-01, STA-07
    KnownOpcode,  // BTH-06
    Shape,        // BTH-12, EXT-05
    Qkey,         // EXT-05
    ReceiveReady, // no RNR in UD
    ReceiveRoom,  // EXT-05
};
inline constexpr std::size_t kDatagramChecks = 6;

enum class ResponseVerdict : std::uint8_t {
    Take,
    Drop,
    Retry,       // an implied NAK: ask again for the oldest unanswered READ or atomic
    LengthError, // LOC_LEN_ERR
    BadResponse, // BAD_RESP_ERR
};

// A response at the requester.
enum class ResponseCheck : std::uint8_t {
    State,         // STA-05
    Shape,         // N-19: an ACK with a body, a READ response with a NAK in its AETH
    KnownSyndrome, // REQ-17
    Window,        // REQ-06, REQ-07, REQ-18, N-38
    ImpliedNak,    // REQ-08, N-11
    FitsRequest,   // REQ-20, REQ-24, REQ-25
    ReadOrder,     // REQ-09: a gap in the responses
    ReadPosition,  // REQ-23
    ReadLength,    // REQ-21, REQ-22
};
inline constexpr std::size_t kResponseChecks = 9;

// Whether the requester may go on.
enum class SendCheck : std::uint8_t {
    Window,       // REQ-02, N-36: PSNs that are outstanding
    RdAtomic,     // REQ-27
    Fence,        // REQ-28
    Credits,      // REQ-29
    RetryLeft,    // REQ-12, REQ-13, TMO-03
    RnrRetryLeft, // RNR-09
};
inline constexpr std::size_t kSendChecks = 6;

struct RequestRuling {
    RequestVerdict verdict = RequestVerdict::Accept;
    std::optional<RequestCheck> by; // whose verdict it is; nothing if all accept
};
struct ResponseRuling {
    ResponseVerdict verdict = ResponseVerdict::Take;
    std::optional<ResponseCheck> by;
};

using PacketFunction = bool (*)(const PacketView&);
using RequestFunction = RequestVerdict (*)(const RequestView&);
using DuplicateFunction = bool (*)(const RequestView&);
using DatagramFunction = bool (*)(const DatagramView&);
using ResponseFunction = ResponseVerdict (*)(const ResponseView&);
using SendFunction = bool (*)(const SendView&);

struct Checks {
    std::array<PacketFunction, kPacketChecks> packet{};
    std::array<RequestFunction, kRequestChecks> request{};
    std::array<DuplicateFunction, kDuplicateChecks> duplicate{};
    std::array<DatagramFunction, kDatagramChecks> datagram{};
    std::array<ResponseFunction, kResponseChecks> response{};
    std::array<SendFunction, kSendChecks> send{};

    friend constexpr bool operator==(const Checks&, const Checks&) = default;

    // This table with one entry replaced.
    [[nodiscard]] constexpr Checks with(PacketCheck check, PacketFunction function) const {
        Checks other = *this;
        other.packet[static_cast<std::size_t>(check)] = function;
        return other;
    }
    [[nodiscard]] constexpr Checks with(RequestCheck check, RequestFunction function) const {
        Checks other = *this;
        other.request[static_cast<std::size_t>(check)] = function;
        return other;
    }
    [[nodiscard]] constexpr Checks with(DuplicateCheck check, DuplicateFunction function) const {
        Checks other = *this;
        other.duplicate[static_cast<std::size_t>(check)] = function;
        return other;
    }
    [[nodiscard]] constexpr Checks with(DatagramCheck check, DatagramFunction function) const {
        Checks other = *this;
        other.datagram[static_cast<std::size_t>(check)] = function;
        return other;
    }
    [[nodiscard]] constexpr Checks with(ResponseCheck check, ResponseFunction function) const {
        Checks other = *this;
        other.response[static_cast<std::size_t>(check)] = function;
        return other;
    }
    [[nodiscard]] constexpr Checks with(SendCheck check, SendFunction function) const {
        Checks other = *this;
        other.send[static_cast<std::size_t>(check)] = function;
        return other;
    }
};

// The right ones, by themselves: a planted defect may call the one that it replaces.
namespace packet_check {
bool transport_version(const PacketView& view);
bool service(const PacketView& view);
bool pkey(const PacketView& view);
bool source_address(const PacketView& view);
bool destination_address(const PacketView& view);
bool vlan(const PacketView& view);
} // namespace packet_check

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

namespace duplicate_check {
bool remembered(const RequestView& view);
bool within_read(const RequestView& view);
bool same_atomic(const RequestView& view);
} // namespace duplicate_check

namespace datagram_check {
bool state(const DatagramView& view);
bool known_opcode(const DatagramView& view);
bool shape(const DatagramView& view);
bool qkey(const DatagramView& view);
bool receive_ready(const DatagramView& view);
bool receive_room(const DatagramView& view);
} // namespace datagram_check

namespace response_check {
ResponseVerdict state(const ResponseView& view);
ResponseVerdict shape(const ResponseView& view);
ResponseVerdict known_syndrome(const ResponseView& view);
ResponseVerdict window(const ResponseView& view);
ResponseVerdict implied_nak(const ResponseView& view);
ResponseVerdict fits_request(const ResponseView& view);
ResponseVerdict read_order(const ResponseView& view);
ResponseVerdict read_position(const ResponseView& view);
ResponseVerdict read_length(const ResponseView& view);
} // namespace response_check

namespace send_check {
bool window(const SendView& view);
bool rd_atomic(const SendView& view);
bool fence(const SendView& view);
bool credits(const SendView& view);
bool retry_left(const SendView& view);
bool rnr_retry_left(const SendView& view);
} // namespace send_check

inline constexpr Checks kStandardChecks = {
    .packet = {packet_check::transport_version, packet_check::service, packet_check::pkey,
               packet_check::source_address, packet_check::destination_address, packet_check::vlan},
    .request = {request_check::state,           request_check::one_nak,
                request_check::expected_psn,    request_check::known_opcode,
                request_check::opcode_sequence, request_check::rights,
                request_check::reply_resources, request_check::receive_ready,
                request_check::pad_count,       request_check::payload_length,
                request_check::message_length,  request_check::atomic_alignment,
                request_check::receive_room,    request_check::receive_memory,
                request_check::key_known,       request_check::key_variant,
                request_check::key_domain,      request_check::key_rights,
                request_check::key_range,       request_check::flush_kind,
                request_check::invalidate_key},
    .duplicate = {duplicate_check::remembered, duplicate_check::within_read,
                  duplicate_check::same_atomic},
    .datagram = {datagram_check::state, datagram_check::known_opcode, datagram_check::shape,
                 datagram_check::qkey, datagram_check::receive_ready, datagram_check::receive_room},
    .response = {response_check::state, response_check::shape, response_check::known_syndrome,
                 response_check::window, response_check::implied_nak, response_check::fits_request,
                 response_check::read_order, response_check::read_position,
                 response_check::read_length},
    .send = {send_check::window, send_check::rd_atomic, send_check::fence, send_check::credits,
             send_check::retry_left, send_check::rnr_retry_left},
};

// Names in lower case with hyphens ("key-range"), for lists of planted defects.
std::string_view name_of(PacketCheck check);
std::string_view name_of(RequestCheck check);
std::string_view name_of(DuplicateCheck check);
std::string_view name_of(DatagramCheck check);
std::string_view name_of(ResponseCheck check);
std::string_view name_of(SendCheck check);

} // namespace veriroce::engine
