// Capture filters over committed files choose what libpcap's own reading of the file chooses.
#include <catch2/catch.hpp>

#include <memory>

#include <pcap/pcap.h>

#include "dissector/capture/bpf.hpp"
#include "tests/dissector/capture/files.hpp"

using namespace veriroce::capture;
using namespace veriroce::capture::test;

namespace {

std::vector<std::size_t> by_libpcap(const std::string& path, const std::string& expression) {
    std::array<char, PCAP_ERRBUF_SIZE> why{};
    const std::unique_ptr<pcap_t, void (*)(pcap_t*)> file(
        pcap_open_offline(path.c_str(), why.data()), pcap_close);
    REQUIRE(file);
    bpf_program program{};
    REQUIRE(pcap_compile(file.get(), &program, expression.c_str(), 1, PCAP_NETMASK_UNKNOWN) == 0);
    std::vector<std::size_t> chosen;
    pcap_pkthdr* header = nullptr;
    const u_char* bytes = nullptr;
    for (std::size_t number = 1; pcap_next_ex(file.get(), &header, &bytes) == 1; ++number) {
        if (pcap_offline_filter(&program, header, bytes) != 0) chosen.push_back(number);
    }
    pcap_freecode(&program);
    return chosen;
}

std::vector<std::size_t> by_us(std::expected<Reader, ReadError> reader, Bpf& bpf) {
    REQUIRE(reader);
    std::vector<std::size_t> chosen;
    Record record;
    for (std::size_t number = 1; reader->next(record).value(); ++number) {
        if (bpf.matches(record)) chosen.push_back(number);
    }
    return chosen;
}

// As a reader of the packets does it.
bool chosen(Bpf& bpf, const Record& record) {
    bpf.note(record);
    return bpf.matches(record);
}

} // namespace

TEST_CASE("bpf: the packets that libpcap chooses of committed files", "[capture]") {
    std::size_t chosen = 0;
    for (const std::string capture :
         {"rxe-rping-cm-v6.pcap", "rxe-vlan.pcap", "rxe-rc-pingpong.pcap", "rxe-atomic.pcap"}) {
        for (const std::string expression :
             {"udp dst port 4791", "ip6 and udp", "tcp", "host 10.77.0.1 and not tcp",
              "vlan and udp", "src 10.77.0.2 and len > 100", "udp[8] = 17", "greater 1000"}) {
            INFO(capture << " " << expression);
            auto bpf = Bpf::compile(expression);
            REQUIRE(bpf);
            const std::string path = pcap_path(capture);
            const auto ours = by_us(Reader::open(path), *bpf);
            CHECK(ours == by_libpcap(path, expression));
            chosen += ours.size();
        }
    }
    CHECK(chosen > 500);
}

TEST_CASE("bpf: a file of several link types is filtered by each of them", "[capture]") {
    // An IPv4 header alone, and one after an Ethernet header; both to UDP port 4791.
    const std::string ip("\x45\x00\x00\x1e\x00\x00\x40\x00\x40\x11\x00\x00\x0a\x00\x00\x01"
                         "\x0a\x00\x00\x02\x12\xb6\x12\xb7\x00\x0a\x00\x00hi",
                         30);
    const std::string frame =
        std::string("\x52\x54\x00\x77\x00\x01\x52\x54\x00\x77\x00\x02\x08\x00", 14) + ip;
    FileBytes file = section(false);
    for (const std::uint32_t link : {1U, 101U}) {
        FileBytes interface;
        file.block(1, interface.u16(link).u16(0).u32(0));
    }
    for (const std::uint32_t interface : {0U, 1U}) {
        const std::string& bytes = interface == 0 ? frame : ip;
        FileBytes body;
        body.u32(interface).u32(0).u32(0).u32(bytes.size()).u32(bytes.size()).text(bytes);
        file.block(6, body);
    }
    auto both = Bpf::compile("udp port 4791");
    REQUIRE(both);
    CHECK(by_us(Reader::over(file.bytes()), *both) == std::vector<std::size_t>{1, 2});
    auto none = Bpf::compile("udp port 53");
    REQUIRE(none);
    CHECK(by_us(Reader::over(file.bytes()), *none).empty());
}

TEST_CASE("bpf: what is wrong is said in libpcap's words", "[capture]") {
    const auto wrong = Bpf::compile("udp prt 4791");
    REQUIRE_FALSE(wrong);
    CHECK(wrong.error() == "can't parse filter expression: syntax error");
    auto bpf = Bpf::compile("ether host 52:54:00:77:00:01");
    REQUIRE(bpf);
    const Record raw{.link_code = 228}; // raw IPv4 has no Ethernet addresses
    CHECK_FALSE(bpf->matches(raw));
    CHECK_FALSE(bpf->unusable());
    CHECK_FALSE(chosen(*bpf, raw));
    const auto why = bpf->unusable();
    REQUIRE(why);
    CHECK(why->starts_with("link type 228: "));
    CHECK(
        bpf->next_unfiltered().value().starts_with("packets of link type 228 cannot be filtered"));
    CHECK_FALSE(bpf->next_unfiltered());
}

TEST_CASE("bpf: where an expression means nothing no packet is chosen, and others are",
          "[capture]") {
    auto bpf = Bpf::compile("ether proto 0x8915");
    REQUIRE(bpf);
    const auto bytes = FileBytes().text(std::string(12, '\x2') + "\x89\x15" + std::string(46, 'x'));
    const Record frame{.link_code = 1, .original_length = 60, .bytes = bytes.bytes()};
    const Record packet{.link_code = 101, .original_length = 60, .bytes = bytes.bytes()};
    const Record local{.link_code = 247, .original_length = 60, .bytes = bytes.bytes()};
    CHECK_FALSE(chosen(*bpf, packet)); // "expression rejects all packets"
    CHECK(bpf->unusable().value() == "link type 101: expression rejects all packets");
    CHECK_FALSE(chosen(*bpf, local));
    CHECK(chosen(*bpf, frame));
    CHECK_FALSE(bpf->unusable());
    // Raw IP was filtered: nothing there can fulfil it.
    CHECK(bpf->next_unfiltered().value().starts_with("packets of link type 247 cannot"));
    CHECK_FALSE(bpf->next_unfiltered());
    bpf->begin_file();
    CHECK_FALSE(bpf->unusable());
    CHECK_FALSE(chosen(*bpf, local));
    CHECK(bpf->unusable().value().starts_with("link type 247: "));
}
