// The opcode table against values typed independently of it: from the tables of Linux' ib_pack.h
// and rxe_opcode.c (RC, UC, UD, and the proposed XRC), and of the InfiniBand specification (RD).
#include <catch2/catch.hpp>

#include <map>
#include <set>
#include <string>

#include "dissector/wire/opcode.hpp"
#include "dissector/wire/packet.hpp"

using namespace veriroce::wire;

namespace {

struct Typed {
    int code;
    std::string name;
    std::string headers;
    std::string title;
};

// clang-format off
const std::vector<Typed> kTyped{
    {0x00, "SEND_FIRST", "", "RC Send First"},
    {0x01, "SEND_MIDDLE", "", "RC Send Middle"},
    {0x02, "SEND_LAST", "", "RC Send Last"},
    {0x03, "SEND_LAST_WITH_IMM", "ImmDt", "RC Send Last Immediate"},
    {0x04, "SEND_ONLY", "", "RC Send Only"},
    {0x05, "SEND_ONLY_WITH_IMM", "ImmDt", "RC Send Only Immediate"},
    {0x06, "RDMA_WRITE_FIRST", "RETH", "RC RDMA Write First"},
    {0x07, "RDMA_WRITE_MIDDLE", "", "RC RDMA Write Middle"},
    {0x08, "RDMA_WRITE_LAST", "", "RC RDMA Write Last"},
    {0x09, "RDMA_WRITE_LAST_WITH_IMM", "ImmDt", "RC RDMA Write Last Immediate"},
    {0x0A, "RDMA_WRITE_ONLY", "RETH", "RC RDMA Write Only"},
    {0x0B, "RDMA_WRITE_ONLY_WITH_IMM", "RETH ImmDt", "RC RDMA Write Only Immediate"},
    {0x0C, "RDMA_READ_REQUEST", "RETH", "RC RDMA Read Request"},
    {0x0D, "RDMA_READ_RESPONSE_FIRST", "AETH", "RC RDMA Read Response First"},
    {0x0E, "RDMA_READ_RESPONSE_MIDDLE", "", "RC RDMA Read Response Middle"},
    {0x0F, "RDMA_READ_RESPONSE_LAST", "AETH", "RC RDMA Read Response Last"},
    {0x10, "RDMA_READ_RESPONSE_ONLY", "AETH", "RC RDMA Read Response Only"},
    {0x11, "ACKNOWLEDGE", "AETH", "RC Acknowledge"},
    {0x12, "ATOMIC_ACKNOWLEDGE", "AETH AtomicAckETH", "RC Atomic Acknowledge"},
    {0x13, "COMPARE_SWAP", "AtomicETH", "RC Compare Swap"},
    {0x14, "FETCH_ADD", "AtomicETH", "RC Fetch Add"},
    {0x16, "SEND_LAST_WITH_INV", "IETH", "RC Send Last Invalidate"},
    {0x17, "SEND_ONLY_WITH_INV", "IETH", "RC Send Only Invalidate"},
    {0x1C, "FLUSH", "FETH RETH", "RC Flush"},
    {0x1D, "ATOMIC_WRITE", "RETH", "RC Atomic Write"},

    {0x20, "SEND_FIRST", "", "UC Send First"},
    {0x21, "SEND_MIDDLE", "", "UC Send Middle"},
    {0x22, "SEND_LAST", "", "UC Send Last"},
    {0x23, "SEND_LAST_WITH_IMM", "ImmDt", "UC Send Last Immediate"},
    {0x24, "SEND_ONLY", "", "UC Send Only"},
    {0x25, "SEND_ONLY_WITH_IMM", "ImmDt", "UC Send Only Immediate"},
    {0x26, "RDMA_WRITE_FIRST", "RETH", "UC RDMA Write First"},
    {0x27, "RDMA_WRITE_MIDDLE", "", "UC RDMA Write Middle"},
    {0x28, "RDMA_WRITE_LAST", "", "UC RDMA Write Last"},
    {0x29, "RDMA_WRITE_LAST_WITH_IMM", "ImmDt", "UC RDMA Write Last Immediate"},
    {0x2A, "RDMA_WRITE_ONLY", "RETH", "UC RDMA Write Only"},
    {0x2B, "RDMA_WRITE_ONLY_WITH_IMM", "RETH ImmDt", "UC RDMA Write Only Immediate"},

    {0x40, "SEND_FIRST", "RDETH DETH", "RD Send First"},
    {0x41, "SEND_MIDDLE", "RDETH DETH", "RD Send Middle"},
    {0x42, "SEND_LAST", "RDETH DETH", "RD Send Last"},
    {0x43, "SEND_LAST_WITH_IMM", "RDETH DETH ImmDt", "RD Send Last Immediate"},
    {0x44, "SEND_ONLY", "RDETH DETH", "RD Send Only"},
    {0x45, "SEND_ONLY_WITH_IMM", "RDETH DETH ImmDt", "RD Send Only Immediate"},
    {0x46, "RDMA_WRITE_FIRST", "RDETH DETH RETH", "RD RDMA Write First"},
    {0x47, "RDMA_WRITE_MIDDLE", "RDETH DETH", "RD RDMA Write Middle"},
    {0x48, "RDMA_WRITE_LAST", "RDETH DETH", "RD RDMA Write Last"},
    {0x49, "RDMA_WRITE_LAST_WITH_IMM", "RDETH DETH ImmDt", "RD RDMA Write Last Immediate"},
    {0x4A, "RDMA_WRITE_ONLY", "RDETH DETH RETH", "RD RDMA Write Only"},
    {0x4B, "RDMA_WRITE_ONLY_WITH_IMM", "RDETH DETH RETH ImmDt", "RD RDMA Write Only Immediate"},
    {0x4C, "RDMA_READ_REQUEST", "RDETH DETH RETH", "RD RDMA Read Request"},
    {0x4D, "RDMA_READ_RESPONSE_FIRST", "RDETH AETH", "RD RDMA Read Response First"},
    {0x4E, "RDMA_READ_RESPONSE_MIDDLE", "RDETH", "RD RDMA Read Response Middle"},
    {0x4F, "RDMA_READ_RESPONSE_LAST", "RDETH AETH", "RD RDMA Read Response Last"},
    {0x50, "RDMA_READ_RESPONSE_ONLY", "RDETH AETH", "RD RDMA Read Response Only"},
    {0x51, "ACKNOWLEDGE", "RDETH AETH", "RD Acknowledge"},
    {0x52, "ATOMIC_ACKNOWLEDGE", "RDETH AETH AtomicAckETH", "RD Atomic Acknowledge"},
    {0x53, "COMPARE_SWAP", "RDETH DETH AtomicETH", "RD Compare Swap"},
    {0x54, "FETCH_ADD", "RDETH DETH AtomicETH", "RD Fetch Add"},
    {0x55, "RESYNC", "RDETH DETH", "RD Resync"},

    {0x64, "SEND_ONLY", "DETH", "UD Send Only"},
    {0x65, "SEND_ONLY_WITH_IMM", "DETH ImmDt", "UD Send Only Immediate"},

    {0x81, "CNP", "", "CNP"},

    {0xA0, "SEND_FIRST", "XRCETH", "XRC Send First"},
    {0xA1, "SEND_MIDDLE", "XRCETH", "XRC Send Middle"},
    {0xA2, "SEND_LAST", "XRCETH", "XRC Send Last"},
    {0xA3, "SEND_LAST_WITH_IMM", "XRCETH ImmDt", "XRC Send Last Immediate"},
    {0xA4, "SEND_ONLY", "XRCETH", "XRC Send Only"},
    {0xA5, "SEND_ONLY_WITH_IMM", "XRCETH ImmDt", "XRC Send Only Immediate"},
    {0xA6, "RDMA_WRITE_FIRST", "XRCETH RETH", "XRC RDMA Write First"},
    {0xA7, "RDMA_WRITE_MIDDLE", "XRCETH", "XRC RDMA Write Middle"},
    {0xA8, "RDMA_WRITE_LAST", "XRCETH", "XRC RDMA Write Last"},
    {0xA9, "RDMA_WRITE_LAST_WITH_IMM", "XRCETH ImmDt", "XRC RDMA Write Last Immediate"},
    {0xAA, "RDMA_WRITE_ONLY", "XRCETH RETH", "XRC RDMA Write Only"},
    {0xAB, "RDMA_WRITE_ONLY_WITH_IMM", "XRCETH RETH ImmDt", "XRC RDMA Write Only Immediate"},
    {0xAC, "RDMA_READ_REQUEST", "XRCETH RETH", "XRC RDMA Read Request"},
    {0xAD, "RDMA_READ_RESPONSE_FIRST", "AETH", "XRC RDMA Read Response First"},
    {0xAE, "RDMA_READ_RESPONSE_MIDDLE", "", "XRC RDMA Read Response Middle"},
    {0xAF, "RDMA_READ_RESPONSE_LAST", "AETH", "XRC RDMA Read Response Last"},
    {0xB0, "RDMA_READ_RESPONSE_ONLY", "AETH", "XRC RDMA Read Response Only"},
    {0xB1, "ACKNOWLEDGE", "AETH", "XRC Acknowledge"},
    {0xB2, "ATOMIC_ACKNOWLEDGE", "AETH AtomicAckETH", "XRC Atomic Acknowledge"},
    {0xB3, "COMPARE_SWAP", "XRCETH AtomicETH", "XRC Compare Swap"},
    {0xB4, "FETCH_ADD", "XRCETH AtomicETH", "XRC Fetch Add"},
    {0xB6, "SEND_LAST_WITH_INV", "XRCETH IETH", "XRC Send Last Invalidate"},
    {0xB7, "SEND_ONLY_WITH_INV", "XRCETH IETH", "XRC Send Only Invalidate"},
    {0xBC, "FLUSH", "XRCETH FETH RETH", "XRC Flush"},
    {0xBD, "ATOMIC_WRITE", "XRCETH RETH", "XRC Atomic Write"},
};
// clang-format on

std::string headers_text(HeaderSet set) {
    std::string text;
    for (std::size_t i = 0; i < kHeaderKinds; ++i) {
        const auto header = static_cast<Header>(i);
        if (!set.has(header)) continue;
        if (!text.empty()) text += ' ';
        text += name_of(header);
    }
    return text;
}

const Typed* typed(int code) {
    for (const Typed& row : kTyped) {
        if (row.code == code) return &row;
    }
    return nullptr;
}

std::set<int> codes_where(auto predicate) {
    std::set<int> codes;
    for (const OpcodeInfo& info : opcode_table()) {
        if (predicate(info)) codes.insert(info.code);
    }
    return codes;
}

// What is true of the RC codes in `rc` is true of the same codes of the other services that have
// them.
std::set<int> in_all_services(const std::set<int>& rc) {
    std::set<int> codes;
    for (const int base : {0x00, 0x20, 0x40, 0x60, 0xA0}) {
        for (const int low : rc) {
            if (typed(base + low) != nullptr) codes.insert(base + low);
        }
    }
    return codes;
}

} // namespace

TEST_CASE("opcode: every one of the 256 rows is as typed here", "[wire]") {
    REQUIRE(kTyped.size() == 25 + 12 + 22 + 2 + 1 + 25);
    for (int code = 0; code < 256; ++code) {
        INFO("opcode " << code);
        const OpcodeInfo& info = opcode_info(static_cast<std::uint8_t>(code));
        REQUIRE(info.code == code);
        REQUIRE(&info == &opcode_table()[static_cast<std::size_t>(code)]);
        const Typed* row = typed(code);
        CHECK(info.reserved() == (row == nullptr));
        CHECK(info.name == (row ? row->name : "RESERVED"));
        CHECK(info.title == (row ? row->title : "Reserved"));
        CHECK(headers_text(info.headers) == (row ? row->headers : ""));
    }
}

TEST_CASE("opcode: the service is in the top three bits", "[wire]") {
    const std::array services{Service::Rc,  Service::Uc,  Service::Rd,       Service::Ud,
                              Service::Cnp, Service::Xrc, Service::Reserved, Service::Reserved};
    for (const OpcodeInfo& info : opcode_table())
        CHECK(info.service == services[info.code >> 5]);
}

TEST_CASE("opcode: requests, responses and what they carry", "[wire]") {
    std::set<int> requests{0x13, 0x14, 0x15, 0x16, 0x17, 0x1C, 0x1D};
    for (int code = 0; code <= 0x0C; ++code)
        requests.insert(code);
    const std::set<int> responses{0x0D, 0x0E, 0x0F, 0x10, 0x11, 0x12};
    CHECK(codes_where([](auto& info) { return info.request(); }) == in_all_services(requests));
    CHECK(codes_where([](auto& info) { return info.response(); }) == in_all_services(responses));

    std::set<int> bare{0x0C, 0x11, 0x12, 0x13, 0x14, 0x15, 0x1C};
    CHECK(codes_where([](auto& info) { return !info.carries_payload(); }) == in_all_services(bare));
    const std::set<int> receives{0x00, 0x01, 0x02, 0x03, 0x04, 0x05, 0x09, 0x0B, 0x16, 0x17};
    CHECK(codes_where([](auto& info) { return info.consumes_receive(); }) ==
          in_all_services(receives));
    CHECK(codes_where([](auto& info) { return info.immediate(); }) ==
          in_all_services({0x03, 0x05, 0x09, 0x0B}));
    CHECK(codes_where([](auto& info) { return info.invalidates(); }) ==
          in_all_services({0x16, 0x17}));
}

TEST_CASE("opcode: positions follow the names", "[wire]") {
    for (const OpcodeInfo& info : opcode_table()) {
        if (info.reserved()) continue;
        INFO(info.title);
        const std::string name(info.name);
        const bool first = name.ends_with("_FIRST");
        const bool middle = name.ends_with("_MIDDLE");
        const bool last = name.find("_LAST") != std::string::npos;
        CHECK((info.position == Position::First) == first);
        CHECK((info.position == Position::Middle) == middle);
        CHECK((info.position == Position::Last) == last);
        CHECK(info.starts_message() == (!middle && !last));
        CHECK(info.ends_message() == (!first && !middle));
    }
}

TEST_CASE("opcode: the operation follows the name", "[wire]") {
    const std::vector<std::pair<std::string, Operation>> prefixes{
        {"SEND_", Operation::Send},
        {"RDMA_WRITE_", Operation::RdmaWrite},
        {"RDMA_READ_REQUEST", Operation::RdmaReadRequest},
        {"RDMA_READ_RESPONSE_", Operation::RdmaReadResponse},
        {"ACKNOWLEDGE", Operation::Acknowledge},
        {"ATOMIC_ACKNOWLEDGE", Operation::AtomicAcknowledge},
        {"COMPARE_SWAP", Operation::CompareSwap},
        {"FETCH_ADD", Operation::FetchAdd},
        {"RESYNC", Operation::Resync},
        {"FLUSH", Operation::Flush},
        {"ATOMIC_WRITE", Operation::AtomicWrite},
        {"CNP", Operation::Cnp},
        {"RESERVED", Operation::Reserved},
    };
    for (const OpcodeInfo& info : opcode_table()) {
        INFO(int{info.code} << " " << info.name);
        int matches = 0;
        for (const auto& [prefix, operation] : prefixes) {
            if (!info.name.starts_with(prefix)) continue;
            ++matches;
            CHECK(info.operation == operation);
        }
        CHECK(matches == 1);
    }
}

TEST_CASE("opcode: names and descriptions lead back to the row", "[wire]") {
    for (const OpcodeInfo& info : opcode_table()) {
        if (info.reserved()) continue;
        INFO(info.title);
        CHECK(opcode_by_name(info.name, info.service) == info.code);
        CHECK(opcode_of(info.service, info.operation, info.position, info.immediate(),
                        info.invalidates()) == info.code);
    }
    CHECK(opcode_by_name("SEND_ONLY") == 0x04);
    CHECK(opcode_by_name("CNP") == 0x81);
    CHECK(opcode_by_name("SEND_ONLY", Service::Ud) == 0x64);
    CHECK(!opcode_by_name("SEND_FIRST", Service::Ud));
    CHECK(!opcode_by_name("RESYNC"));
    CHECK(!opcode_by_name("RESERVED"));
    CHECK(!opcode_by_name("send_only"));
    CHECK(!opcode_by_name(""));
    CHECK(!opcode_of(Service::Rc, Operation::Send, Position::First, true));
    CHECK(!opcode_of(Service::Uc, Operation::RdmaReadRequest, Position::Only));
    CHECK(!opcode_of(Service::Rc, Operation::Reserved, Position::Only));
}

TEST_CASE("opcode: a row counts the bytes of its headers", "[wire]") {
    for (const OpcodeInfo& info : opcode_table()) {
        std::size_t bytes = Bth::kSize;
        for (std::size_t i = 0; i < kHeaderKinds; ++i) {
            const auto header = static_cast<Header>(i);
            if (info.headers.has(header)) bytes += size_of(header);
        }
        CHECK(info.header_bytes == bytes);
    }
    CHECK(opcode_info(0x0B).header_bytes == 32); // RDMA WRITE Only with immediate data
    CHECK(opcode_info(0x53).header_bytes == 52); // COMPARE SWAP of RD
}

TEST_CASE("opcode: the position of a packet follows from whether it is the first and the last",
          "[wire]") {
    CHECK(position_of(true, false) == Position::First);
    CHECK(position_of(false, false) == Position::Middle);
    CHECK(position_of(false, true) == Position::Last);
    CHECK(position_of(true, true) == Position::Only);
}

TEST_CASE("opcode: header sizes are the standard's and fit the buffer for headers", "[wire]") {
    const std::map<std::string, std::size_t> sizes{
        {"RDETH", 4},      {"DETH", 8}, {"XRCETH", 4},       {"FETH", 4},  {"RETH", 16},
        {"AtomicETH", 28}, {"AETH", 4}, {"AtomicAckETH", 8}, {"ImmDt", 4}, {"IETH", 4},
    };
    REQUIRE(sizes.size() == kHeaderKinds);
    for (std::size_t i = 0; i < kHeaderKinds; ++i) {
        const auto header = static_cast<Header>(i);
        CHECK(size_of(header) == sizes.at(std::string(name_of(header))));
    }
    for (const OpcodeInfo& info : opcode_table()) {
        Packet packet;
        packet.headers = info.headers;
        CHECK(packet.header_bytes() <= kMaxTransportHeaderBytes);
    }
}
