// What pcapng files tell beside the packets, and several link types in one file.
#include <catch2/catch.hpp>

#include <map>

#include "tests/dissector/capture/files.hpp"
#include "tests/dissector/corpus/corpus.hpp"
#include "tests/dissector/dissect/command.hpp"
#include "tests/dissector/dissect/tshark.hpp"

using namespace veriroce;
using namespace veriroce::dissect;
using namespace veriroce::dissect::test;
using capture::test::FileBytes;
using capture::test::section;

namespace {

constexpr std::uint32_t kInterface = 1;
constexpr std::uint32_t kSimple = 3;
constexpr std::uint32_t kEnhanced = 6;
constexpr std::uint16_t kEthernet = 1;
constexpr std::uint16_t kRawIp = 101;
constexpr std::uint16_t kInfiniBand = 247;

std::string text_of(const std::vector<std::byte>& bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// A SEND Only on this link type.
std::string packet_on(std::uint16_t link_code) {
    static const auto all = corpus::corpora();
    for (const auto& one : all) {
        for (const auto& frame : one.frames) {
            if (frame.opcode != 0x04) continue;
            if (one.link_code == link_code) return text_of(frame.bytes);
            // A record's header is not the packet's.
            const bool local = link_code == kInfiniBand && frame.carrier == "infiniband local";
            if (local) return text_of(frame.bytes).substr(16);
        }
    }
    throw std::runtime_error("no such frame in the corpus");
}

void add_interface(FileBytes& file, std::uint16_t link_code, const std::string& name = "") {
    FileBytes body(file.big_endian());
    body.u16(link_code).u16(0).u32(0);
    if (!name.empty()) body.option(2, name).u32(0);
    file.block(kInterface, body);
}

void add_packet(FileBytes& file, std::uint32_t interface, const std::string& packet,
                const std::vector<std::string>& comments = {}) {
    FileBytes body(file.big_endian());
    body.u32(interface).u32(0).u32(1'000'000).u32(packet.size()).u32(packet.size());
    body.text(packet).pad();
    for (const std::string& comment : comments)
        body.option(1, comment);
    if (!comments.empty()) body.u32(0);
    file.block(kEnhanced, body);
}

void add_simple(FileBytes& file, const std::string& packet) {
    FileBytes body(file.big_endian());
    file.block(kSimple, body.u32(packet.size()).text(packet));
}

// Two sections in different byte orders; in the first an interface with a name, one without.
std::string two_sections() {
    FileBytes file = section(false);
    add_interface(file, kEthernet, "eth0");
    add_interface(file, kRawIp);
    add_packet(file, 1, packet_on(kRawIp));
    add_packet(file, 0, packet_on(kEthernet), {"seen by \"hand\"", "two\nlines, and\ta tab"});
    add_simple(file, packet_on(kEthernet));
    FileBytes second = section(true);
    add_interface(second, kRawIp, "tun0");
    add_interface(second, kEthernet, "eth1");
    add_packet(second, 1, packet_on(kEthernet));
    add_packet(second, 0, packet_on(kRawIp), {"last"});
    return text_of(file.append(second).bytes());
}

Ran ran_fields(const std::string& file, const std::vector<std::string>& fields,
               const std::string& filter = "") {
    return ran({.files = {file}, .filter = filter, .format = Format::Fields, .fields = fields});
}

} // namespace

TEST_CASE("pcapng: sections, interfaces and comments are fields as tshark has them", "[dissect]") {
    const TemporaryFolder folder;
    const std::string file = folder.file("two.pcapng", two_sections());
    const std::vector<std::string> fields{"frame.number", "frame.section_number",
                                          "frame.interface_id", "frame.comment"};
    const std::string expected = "1\t1\t1\t\n"
                                 "2\t1\t0\tseen by \"hand\",two\\nlines, and\\ta tab\n"
                                 "3\t1\t0\t\n"
                                 "4\t2\t1\t\n"
                                 "5\t2\t0\tlast\n";
    const Ran ours = ran_fields(file, fields);
    CHECK(ours.code == 0);
    CHECK(ours.out == expected);
    std::string arguments = "-n -r " + file + " -T fields";
    for (const std::string& field : fields)
        arguments += " -e " + field;
    CHECK(tshark(arguments) == expected);
    // tshark says "unknown" of one without a name, and gives section 2 the names of section 1.
    CHECK(ran_fields(file, {"frame.interface_name"}).out == "\neth0\neth0\neth1\ntun0\n");
    CHECK(ran_fields(file, {"frame.number"}, "frame.comment contains \"lines\"").out == "2\n");
    CHECK(ran_fields(file, {"frame.number"}, "frame.comment").out == "2\n5\n");
}

TEST_CASE("pcapng: comments are below the line, in the tree, in JSON and in CSV", "[dissect]") {
    const TemporaryFolder folder;
    const std::string file = folder.file("two.pcapng", two_sections());
    const Ran tree = ran({.files = {file}, .tree = true});
    CHECK(tree.out.find("Comment: seen by \"hand\"\n") != std::string::npos);
    CHECK(tree.out.find("Comment: two\\nlines, and\\ta tab\n") != std::string::npos);
    CHECK(tree.out.find("Section: 2\n") != std::string::npos);
    const Ran lines = ran({.files = {file}});
    CHECK(lines.out.find("\n      # seen by \"hand\"\n      # two\\nlines, and\\ta tab\n") !=
          std::string::npos);
    const Ran json = ran({.files = {file}, .format = Format::Json});
    CHECK(json.out.find("\"frame.comment\":[\"seen by \\\"hand\\\"\","
                        "\"two\\nlines, and\\ta tab\"]") != std::string::npos);
    CHECK(json.out.find("\"frame.comment\":\"last\"") != std::string::npos);
    const Ran csv = ran({.files = {file}, .format = Format::Csv, .fields = {"frame.comment"}});
    CHECK(csv.out.find("\"seen by \"\"hand\"\",two\\nlines, and\\ta tab\"\n") != std::string::npos);
}

TEST_CASE("pcapng: what -w wrote as comments, dissect shows again", "[dissect]") {
    const TemporaryFolder folder;
    const std::string written = folder.path() / "out.pcapng";
    CHECK(ran({.files = {pcap("rxe-write-corrupt.pcap")}, .write = written}).code == 0);
    const Ran found = ran_fields(written, {"frame.comment"}, "frame.comment");
    CHECK(lines_of(found.out).size() == 12);
    CHECK(found.out.starts_with("error CRC-01: the ICRC is wrong (found 0x9fb2b1f1, expected "
                                "0x2d67dd2c), bytes 1078..1081\n"));
}

TEST_CASE("pcapng: a packet without a time is written without one, or says that it had none",
          "[dissect]") {
    const TemporaryFolder folder;
    FileBytes file = section(false);
    add_interface(file, kEthernet);
    std::string wrong = packet_on(kEthernet);
    add_simple(file, wrong);
    wrong.back() ^= 1; // a wrong ICRC is a comment, and a simple packet block has none
    add_simple(file, wrong);
    add_packet(file, 0, packet_on(kEthernet));
    const std::string original = folder.file("simple.pcapng", text_of(file.bytes()));
    const std::string written = folder.path() / "out.pcapng";
    CHECK(ran({.files = {original}, .write = written}).code == 0);
    const Ran fields = ran_fields(written, {"frame.time_epoch", "frame.len", "frame.comment"});
    const auto lines = lines_of(fields.out);
    const std::string length = std::to_string(wrong.size());
    REQUIRE(lines.size() == 3);
    CHECK(lines[0] == "\t" + length + "\t");
    CHECK(lines[1].starts_with("0.000000000\t" + length + "\terror CRC-01"));
    CHECK(lines[1].ends_with(",the original file has no time for this packet"));
    CHECK(lines[2] == "1.000000000\t" + length + "\t");
    // In the second file's interface there is no such block either.
    CHECK(ran({.files = {pcap("rxe-atomic.pcap"), original}, .write = written}).code == 0);
    const Ran both =
        ran_fields(written, {"frame.comment"},
                   "frame.comment == \"the original file has no time for this packet\"");
    CHECK(lines_of(both.out).size() == 2);
}

TEST_CASE("pcapng: a capture filter over several link types", "[dissect]") {
    const TemporaryFolder folder;
    FileBytes bytes = section(false);
    for (const std::uint16_t link : {kEthernet, kInfiniBand, kRawIp})
        add_interface(bytes, link);
    add_packet(bytes, 0, packet_on(kEthernet));
    add_packet(bytes, 1, packet_on(kInfiniBand));
    add_packet(bytes, 1, packet_on(kInfiniBand));
    add_packet(bytes, 2, packet_on(kRawIp));
    add_packet(bytes, 0, packet_on(kEthernet));
    const std::string mixed = folder.file("mixed.pcapng", text_of(bytes.bytes()));
    const auto chosen = [&](const std::string& file, const std::string& filter) {
        return ran({.files = {file},
                    .capture_filter = filter,
                    .format = Format::Fields,
                    .fields = {"roce.opcode.name"}});
    };
    const std::string name = "RC Send Only\n";
    const std::string left_out = "veriroce: " + mixed +
                                 ": -f: packets of link type 247 cannot be "
                                 "filtered and are skipped: ";
    const Ran port = chosen(mixed, "udp port 4791");
    CHECK(port.code == 0);
    CHECK(port.out == name + name + name);
    CHECK(lines_of(port.err).size() == 1);
    CHECK(port.err.starts_with(left_out));
    // There are no tags in raw IP, and no Ethernet types: those packets do not fulfil it.
    const Ran tags = chosen(mixed, "udp port 4791 or vlan");
    CHECK(tags.code == 0);
    CHECK(tags.out == name + name);
    CHECK(lines_of(tags.err).size() == 2);
    const Ran none = chosen(mixed, "ether proto 0x8915");
    CHECK(none.code == 0);
    CHECK(none.out.empty());
    CHECK(lines_of(none.err).size() == 1);

    FileBytes local = section(false);
    add_interface(local, kInfiniBand);
    add_packet(local, 0, packet_on(kInfiniBand));
    const std::string alone = folder.file("local.pcapng", text_of(local.bytes()));
    const Ran useless = chosen(alone, "udp port 4791");
    CHECK(useless.code == 3);
    CHECK(useless.out.empty());
    CHECK(useless.err.starts_with("veriroce: " + alone + ": -f: link type 247: "));
}
