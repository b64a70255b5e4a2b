// What was not looked at is told, and does not pass for clean.
#include <catch2/catch.hpp>

#include <string>
#include <vector>

#include "tests/dissector/dissect/command.hpp"

namespace veriroce::dissect::test {
namespace {

std::string little_endian(std::uint32_t value) {
    std::string text;
    for (unsigned i = 0; i < 4; ++i)
        text += static_cast<char>(value >> (8 * i) & 0xFF);
    return text;
}

std::string pcap_of(std::uint32_t link_type, const std::vector<std::string>& packets) {
    std::string file = little_endian(0xA1B2C3D4) + little_endian(0x00040002) + little_endian(0) +
                       little_endian(0) + little_endian(65535) + little_endian(link_type);
    for (const std::string& packet : packets) {
        const auto bytes = static_cast<std::uint32_t>(packet.size());
        file += little_endian(1) + little_endian(0) + little_endian(bytes) + little_endian(bytes);
        file += packet;
    }
    return file;
}

// 64 bytes of MACsec, which is not followed.
const std::string macsec = std::string(12, '\x02') + "\x88\xE5" + std::string(50, '\0');

} // namespace

TEST_CASE("totals: frames that were not taken apart are counted by type", "[dissect]") {
    const TemporaryFolder folder;
    const std::string file = folder.file("macsec.pcap", pcap_of(1, {macsec, macsec}));
    const std::string line = "2 frames not followed: EtherType 0x88e5 2\n";
    const Ran check = ran({.files = {file}, .check = true});
    CHECK(check.code == 0);
    CHECK(check.out == "2 frames, 0 RoCE packets, 0 with errors or warnings\n" + line);
    const Ran stats = ran({.files = {file}, .stats = true});
    CHECK(stats.out.contains("            " + line));
    // Nothing of the kind where all was followed.
    CHECK_FALSE(ran({.files = {pcap("rxe-atomic.pcap")}, .check = true}).out.contains("followed"));
}

TEST_CASE("totals: a link type that is not supported is no clean pass", "[dissect]") {
    const TemporaryFolder folder;
    const std::string file = folder.file("wlan.pcap", pcap_of(105, {macsec, macsec, macsec}));
    const std::string error =
        "veriroce: " + file + ": link type 105 is not supported: 3 frames were not decoded\n";
    const Ran check = ran({.files = {file}, .check = true});
    CHECK(check.code == 3);
    CHECK(check.err == error);
    const Ran text = ran({.files = {file}});
    CHECK(text.code == 0); // the lines show them
    CHECK(text.err == error);
}

TEST_CASE("totals: the name of a file does not steer the terminal", "[dissect]") {
    const TemporaryFolder folder;
    const std::string file = folder.file("a\x1b[31m.pcap", pcap_of(1, {macsec}));
    const Ran two = ran({.files = {file, file + "x"}});
    CHECK(two.code == 3);
    CHECK_FALSE((two.out + two.err).contains('\x1b'));
    CHECK(two.err.contains("a\\x1b[31m.pcapx: No such file or directory"));
}

} // namespace veriroce::dissect::test
