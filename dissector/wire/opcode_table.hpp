// The rows of the opcode table, made when this is compiled from one row per meaning of the low five
// bits and one row per service. For those that need rows at compile time; all others call
// opcode_info().
#pragma once

#include <array>

#include "dissector/wire/aeth.hpp"
#include "dissector/wire/atomic_ack_eth.hpp"
#include "dissector/wire/atomic_eth.hpp"
#include "dissector/wire/bth.hpp"
#include "dissector/wire/deth.hpp"
#include "dissector/wire/feth.hpp"
#include "dissector/wire/ieth.hpp"
#include "dissector/wire/immdt.hpp"
#include "dissector/wire/opcode.hpp"
#include "dissector/wire/rdeth.hpp"
#include "dissector/wire/reth.hpp"
#include "dissector/wire/xrceth.hpp"

namespace veriroce::wire {

struct HeaderInfo {
    std::size_t bytes;
    std::string_view name;
};

// In the order of Header.
inline constexpr std::array<HeaderInfo, kHeaderKinds> kHeaders{{
#define VERIROCE_HEADER_INFO(type, member, name, ...) {type::kSize, name},
    VERIROCE_EXTENDED_HEADERS(VERIROCE_HEADER_INFO)
#undef VERIROCE_HEADER_INFO
}};

namespace opcode_rows {

using enum Operation;
using enum Position;

// What the low five bits of an opcode mean, whatever the service; headers as in RC.
struct Row {
    std::uint8_t low;
    Operation operation;
    Position position;
    HeaderSet headers;
    std::string_view name;
    std::string_view title;
};

inline constexpr HeaderSet kNone;
inline constexpr HeaderSet kImm{Header::ImmDt};
inline constexpr HeaderSet kInv{Header::Ieth};
inline constexpr HeaderSet kReth{Header::Reth};
inline constexpr HeaderSet kAeth{Header::Aeth};

inline constexpr std::array kRows{
    Row{0x00, Send, First, kNone, "SEND_FIRST", "Send First"},
    Row{0x01, Send, Middle, kNone, "SEND_MIDDLE", "Send Middle"},
    Row{0x02, Send, Last, kNone, "SEND_LAST", "Send Last"},
    Row{0x03, Send, Last, kImm, "SEND_LAST_WITH_IMM", "Send Last Immediate"},
    Row{0x04, Send, Only, kNone, "SEND_ONLY", "Send Only"},
    Row{0x05, Send, Only, kImm, "SEND_ONLY_WITH_IMM", "Send Only Immediate"},
    Row{0x06, RdmaWrite, First, kReth, "RDMA_WRITE_FIRST", "RDMA Write First"},
    Row{0x07, RdmaWrite, Middle, kNone, "RDMA_WRITE_MIDDLE", "RDMA Write Middle"},
    Row{0x08, RdmaWrite, Last, kNone, "RDMA_WRITE_LAST", "RDMA Write Last"},
    Row{0x09, RdmaWrite, Last, kImm, "RDMA_WRITE_LAST_WITH_IMM", "RDMA Write Last Immediate"},
    Row{0x0A, RdmaWrite, Only, kReth, "RDMA_WRITE_ONLY", "RDMA Write Only"},
    Row{0x0B, RdmaWrite, Only, kReth.with(Header::ImmDt), "RDMA_WRITE_ONLY_WITH_IMM",
        "RDMA Write Only Immediate"},
    Row{0x0C, RdmaReadRequest, Only, kReth, "RDMA_READ_REQUEST", "RDMA Read Request"},
    Row{0x0D, RdmaReadResponse, First, kAeth, "RDMA_READ_RESPONSE_FIRST",
        "RDMA Read Response First"},
    Row{0x0E, RdmaReadResponse, Middle, kNone, "RDMA_READ_RESPONSE_MIDDLE",
        "RDMA Read Response Middle"},
    Row{0x0F, RdmaReadResponse, Last, kAeth, "RDMA_READ_RESPONSE_LAST", "RDMA Read Response Last"},
    Row{0x10, RdmaReadResponse, Only, kAeth, "RDMA_READ_RESPONSE_ONLY", "RDMA Read Response Only"},
    Row{0x11, Acknowledge, Only, kAeth, "ACKNOWLEDGE", "Acknowledge"},
    Row{0x12, AtomicAcknowledge, Only, kAeth.with(Header::AtomicAckEth), "ATOMIC_ACKNOWLEDGE",
        "Atomic Acknowledge"},
    Row{0x13, CompareSwap, Only, HeaderSet{Header::AtomicEth}, "COMPARE_SWAP", "Compare Swap"},
    Row{0x14, FetchAdd, Only, HeaderSet{Header::AtomicEth}, "FETCH_ADD", "Fetch Add"},
    Row{0x15, Resync, Only, kNone, "RESYNC", "Resync"},
    Row{0x16, Send, Last, kInv, "SEND_LAST_WITH_INV", "Send Last Invalidate"},
    Row{0x17, Send, Only, kInv, "SEND_ONLY_WITH_INV", "Send Only Invalidate"},
    Row{0x1C, Flush, Only, kReth.with(Header::Feth), "FLUSH", "Flush"},  // EXT-03
    Row{0x1D, AtomicWrite, Only, kReth, "ATOMIC_WRITE", "Atomic Write"}, // EXT-01
};

constexpr std::uint32_t codes(unsigned first, unsigned last) {
    std::uint32_t set = 0;
    for (unsigned low = first; low <= last; ++low)
        set |= 1U << low;
    return set;
}

// Which of the rows a service has, and the headers that it puts in front of theirs.
struct ServiceRow {
    Service service;
    std::string_view prefix;
    std::uint32_t codes;
    HeaderSet on_requests;
    HeaderSet on_responses;
};

inline constexpr std::uint32_t kReliable =
    codes(0x00, 0x14) | codes(0x16, 0x17) | codes(0x1C, 0x1D);

// By bits 7:5 of the opcode. Whether RD has a FLUSH is said in two ways; no RoCE device sends RD.
inline constexpr std::array<ServiceRow, 8> kServices{{
    {Service::Rc, "RC ", kReliable, {}, {}},
    {Service::Uc, "UC ", codes(0x00, 0x0B), {}, {}},
    {Service::Rd, "RD ", codes(0x00, 0x15), HeaderSet{Header::Rdeth, Header::Deth},
     HeaderSet{Header::Rdeth}},
    {Service::Ud, "UD ", codes(0x04, 0x05), HeaderSet{Header::Deth}, {}},
    {Service::Cnp, "", 0, {}, {}},
    {Service::Xrc, "XRC ", kReliable, HeaderSet{Header::Xrceth}, {}},
    {Service::Reserved, "", 0, {}, {}},
    {Service::Reserved, "", 0, {}, {}},
}};

constexpr HeaderSet joined(HeaderSet a, HeaderSet b) {
    for (std::size_t i = 0; i < kHeaderKinds; ++i) {
        if (b.has(static_cast<Header>(i))) a = a.with(static_cast<Header>(i));
    }
    return a;
}

// Titles are put together at compile time: prefix of the service, words of the row.
struct Title {
    std::array<char, 32> chars{};
    std::size_t length = 0;

    constexpr void append(std::string_view text) {
        for (const char c : text)
            chars[length++] = c;
    }
    constexpr std::string_view view() const { return {chars.data(), length}; }
};

template <typename Use>
constexpr void for_each_opcode(Use use) {
    for (std::size_t high = 0; high < kServices.size(); ++high) {
        for (const Row& row : kRows) {
            if ((kServices[high].codes >> row.low & 1U) == 0) continue;
            use(high << 5 | row.low, kServices[high], row);
        }
    }
}

constexpr std::size_t header_bytes(HeaderSet headers) {
    std::size_t bytes = Bth::kSize;
    for (; !headers.empty(); headers = headers.without_first())
        bytes += kHeaders[static_cast<std::size_t>(headers.first())].bytes;
    return bytes;
}

constexpr std::array<Title, 256> make_titles() {
    std::array<Title, 256> titles{};
    for_each_opcode([&](std::size_t code, const ServiceRow& service, const Row& row) {
        titles[code].append(service.prefix);
        titles[code].append(row.title);
    });
    return titles;
}
inline constexpr std::array<Title, 256> kTitles = make_titles();

constexpr std::array<OpcodeInfo, 256> make_table() {
    std::array<OpcodeInfo, 256> table{};
    for (std::size_t code = 0; code < table.size(); ++code) {
        table[code].code = static_cast<std::uint8_t>(code);
        table[code].service = kServices[code >> 5].service;
        table[code].header_bytes = Bth::kSize;
        table[code].name = "RESERVED";
        table[code].title = "Reserved";
    }
    for_each_opcode([&](std::size_t code, const ServiceRow& service, const Row& row) {
        OpcodeInfo& info = table[code];
        info.operation = row.operation;
        info.position = row.position;
        info.headers = joined(row.headers, is_response(row.operation) ? service.on_responses
                                                                      : service.on_requests);
        info.header_bytes = static_cast<std::uint8_t>(header_bytes(info.headers));
        info.name = row.name;
        info.title = kTitles[code].view();
    });
    OpcodeInfo& cnp = table[kCnpOpcode]; // CNP-02: 16 reserved bytes are its body
    cnp.operation = Operation::Cnp;
    cnp.name = cnp.title = "CNP";
    return table;
}

} // namespace opcode_rows

// All 256 rows in order of code.
inline constexpr std::array<OpcodeInfo, 256> kOpcodeTable = opcode_rows::make_table();

} // namespace veriroce::wire
