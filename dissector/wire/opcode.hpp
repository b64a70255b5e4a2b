// THE opcode table: one row for each of the 256 BTH opcodes, reserved ones included. The decoder,
// the engine, the script language, the fuzzers and the reports all read it; nothing that follows
// from a row is typed a second time. The rows are in opcode_table.hpp.
//
// Source: rules OPC-01 to OPC-10, EXT-01 to EXT-06, CNP-02; opcodes and header lists are
// checked against values typed independently in tests/dissector/wire/opcode_test.cpp.
#pragma once

#include <bit>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "dissector/wire/header_list.hpp"

namespace veriroce::wire {

// Bits 7:5 of the opcode. CNP has a class of its own, of which only 0x81 is defined; the classes 6
// and 7 are Reserved (manufacturers').
enum class Service : std::uint8_t { Rc, Uc, Rd, Ud, Cnp, Xrc, Reserved };

// What the packet is a part of.
enum class Operation : std::uint8_t {
    Send,
    RdmaWrite,
    RdmaReadRequest,
    RdmaReadResponse,
    Acknowledge,
    AtomicAcknowledge,
    CompareSwap,
    FetchAdd,
    Resync,
    Flush,
    AtomicWrite,
    Cnp,
    Reserved,
};

// Whether a responder sends it.
constexpr bool is_response(Operation operation) {
    return operation == Operation::RdmaReadResponse || operation == Operation::Acknowledge ||
           operation == Operation::AtomicAcknowledge;
}

// Which packet of its message it is.
enum class Position : std::uint8_t { First, Middle, Last, Only };

constexpr bool starts_message(Position position) {
    return position == Position::First || position == Position::Only;
}
constexpr bool ends_message(Position position) {
    return position == Position::Last || position == Position::Only;
}
// The position of a packet of which it is known whether it is the first and whether it is the last.
constexpr Position position_of(bool first, bool last) {
    if (first) return last ? Position::Only : Position::First;
    return last ? Position::Last : Position::Middle;
}

// Extended transport headers in the order in which they follow the BTH (header_list.hpp).
enum class Header : std::uint8_t { VERIROCE_EXTENDED_HEADERS(VERIROCE_HEADER_TYPE) };
inline constexpr std::size_t kHeaderKinds = 0 VERIROCE_EXTENDED_HEADERS(VERIROCE_HEADER_ONE);

// Bytes that a header of this kind takes.
std::size_t size_of(Header header);
std::string_view name_of(Header header); // "RETH", "AtomicETH", ... as the standard writes them

// A set of extended headers.
class HeaderSet {
  public:
    constexpr HeaderSet() = default;
    template <typename... Headers>
    constexpr explicit HeaderSet(Headers... headers)
        : bits_(static_cast<std::uint16_t>((0U | ... | bit(headers)))) {}

    [[nodiscard]] constexpr bool has(Header header) const { return (bits_ & bit(header)) != 0; }
    [[nodiscard]] constexpr bool empty() const { return bits_ == 0; }
    // The first of them in a packet. The set is not empty.
    [[nodiscard]] constexpr Header first() const {
        return static_cast<Header>(std::countr_zero(bits_));
    }
    [[nodiscard]] constexpr HeaderSet without_first() const {
        HeaderSet set;
        set.bits_ = static_cast<std::uint16_t>(bits_ & (bits_ - 1U));
        return set;
    }
    [[nodiscard]] constexpr HeaderSet with(Header header) const {
        HeaderSet set = *this;
        set.bits_ = static_cast<std::uint16_t>(set.bits_ | bit(header));
        return set;
    }
    friend constexpr bool operator==(HeaderSet, HeaderSet) = default;

  private:
    static constexpr std::uint16_t bit(Header header) {
        return static_cast<std::uint16_t>(1U << static_cast<unsigned>(header));
    }
    std::uint16_t bits_ = 0;
};

struct OpcodeInfo {
    std::uint8_t code = 0;
    Service service = Service::Reserved;
    Operation operation = Operation::Reserved;
    Position position = Position::Only;
    HeaderSet headers;
    std::uint8_t header_bytes = 0; // BTH and extended headers
    std::string_view name;  // of the script language, without the service: "SEND_FIRST", "RESERVED"
    std::string_view title; // for people, as Wireshark has it: "RC Send First"

    [[nodiscard]] constexpr bool reserved() const { return operation == Operation::Reserved; }
    [[nodiscard]] constexpr bool immediate() const { return headers.has(Header::ImmDt); }
    [[nodiscard]] constexpr bool invalidates() const { return headers.has(Header::Ieth); }
    [[nodiscard]] constexpr bool starts_message() const { return wire::starts_message(position); }
    [[nodiscard]] constexpr bool ends_message() const { return wire::ends_message(position); }
    // A packet that a requester sends (RC 0x00-0x0C, 0x13, 0x14, 0x16, 0x17, 0x1C, 0x1D).
    [[nodiscard]] constexpr bool request() const {
        return !reserved() && operation != Operation::Cnp && !response();
    }
    // A packet that a responder sends (RC 0x0D-0x12).
    [[nodiscard]] constexpr bool response() const { return is_response(operation); }
    // Whether bytes may follow the headers. Of a reserved opcode nothing is known: they may.
    [[nodiscard]] constexpr bool carries_payload() const;
    // SEND in any form, and RDMA WRITE that ends with immediate data: takes a receive WQE at its
    // end.
    [[nodiscard]] constexpr bool consumes_receive() const {
        return operation == Operation::Send || (operation == Operation::RdmaWrite && immediate());
    }
};

constexpr bool OpcodeInfo::carries_payload() const {
    switch (operation) {
    case Operation::Send:
    case Operation::RdmaWrite:
    case Operation::RdmaReadResponse:
    case Operation::AtomicWrite:
    case Operation::Cnp:
    case Operation::Reserved: return true;
    case Operation::RdmaReadRequest:
    case Operation::Acknowledge:
    case Operation::AtomicAcknowledge:
    case Operation::CompareSwap:
    case Operation::FetchAdd:
    case Operation::Resync:
    case Operation::Flush: return false;
    }
    return false;
}

// Total: every byte has a row; a reserved one says so.
const OpcodeInfo& opcode_info(std::uint8_t code);

// All 256 rows in order of code.
std::span<const OpcodeInfo, 256> opcode_table();

// The RC opcode of this name ("SEND_ONLY"), and CNP; nothing if there is none.
std::optional<std::uint8_t> opcode_by_name(std::string_view name, Service service = Service::Rc);

// The opcode of a packet of an operation at a place in its message, for example (Send, Last, with
// immediate data). Nothing if no such opcode exists.
std::optional<std::uint8_t> opcode_of(Service service, Operation operation, Position position,
                                      bool immediate = false, bool invalidate = false);

inline constexpr std::uint8_t kCnpOpcode = 0x81;

} // namespace veriroce::wire
