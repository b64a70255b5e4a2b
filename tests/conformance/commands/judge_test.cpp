// The command `veriroce judge` in this process: output and exit codes.
#include <catch2/catch.hpp>

#include <algorithm>
#include <filesystem>

#include "conformance/commands/judge.hpp"
#include "tests/temporary_folder.hpp"
#include "tests/text.hpp"
#include "tests/written.hpp"

namespace veriroce::commands::test {
namespace {

struct Ran {
    int code = -1;
    std::string out;
    std::string err;
};

Ran ran(const JudgeOptions& options) {
    std::FILE* out = std::tmpfile();
    std::FILE* err = std::tmpfile();
    Ran result;
    result.code = run_judge(options, out, err);
    result.out = house::written_to(out);
    result.err = house::written_to(err);
    return result;
}

std::string pcap(std::string_view name) {
    return (std::filesystem::path(VERIROCE_SOURCE_DIR) / "pcaps" / name).string();
}

// A capture with one byte changed, as a file.
class Changed {
  public:
    Changed(std::string_view capture, std::size_t at, char value) {
        std::string bytes = house::read_text(pcap(capture));
        bytes.at(at) = value;
        path_ = folder_.file("changed.pcap", bytes);
    }
    [[nodiscard]] const std::string& path() const { return path_; }

  private:
    house::TemporaryFolder folder_;
    std::string path_;
};

// After the file's header, the packet's, Ethernet, IP, UDP and BTH: the first payload byte of the
// first packet of rxe-send-imm, whose ICRC is then wrong.
constexpr std::size_t kFirstPayload = 24 + 16 + 14 + 20 + 8 + 12;

} // namespace

TEST_CASE("judge command: a lawful capture has a summary and exit code 0", "[judge]") {
    const Ran result = ran({.files = {pcap("rxe-send-imm.pcap")}});
    CHECK(result.code == 0);
    CHECK(result.err.empty());
    CHECK(result.out == "RoCEv2 packets: 11, connections: 1; violations: 0 certain, 0 possible\n");
    CHECK(ran({.files = {pcap("rxe-send-imm.pcap")}, .quiet = true}).out.empty());
}

TEST_CASE("judge command: a certain violation is printed and exits 1", "[judge]") {
    const Changed changed("rxe-send-imm.pcap", kFirstPayload, '\x55');
    const Ran damaged = ran({.files = {changed.path()}});
    CHECK(damaged.code == 0); // noise looks the same
    CHECK(damaged.out.find("packets with a wrong ICRC: 1") != std::string::npos);
    const Ran result = ran({.files = {changed.path()}, .recorded_at = {"10.77.0.1", "10.77.0.2"}});
    CHECK(result.code == 1);
    CHECK(result.out.starts_with("CRC-01   MUST   certain     packet 1: ICRC is 0x"));
    CHECK(result.out.substr(0, result.out.find('\n')).find("; ICRC must be 0x") !=
          std::string::npos);
}

TEST_CASE("judge command: a possible violation counts only with strict", "[judge]") {
    // A packet is not in this file, so that its acknowledgement seems to run ahead.
    std::string bytes = house::read_text(pcap("rxe-tc-dscp.pcap"));
    const auto size_at = [&](std::size_t at) {
        return static_cast<std::size_t>(static_cast<unsigned char>(bytes.at(at))) |
               static_cast<std::size_t>(static_cast<unsigned char>(bytes.at(at + 1))) << 8;
    };
    const std::size_t second = 24 + 16 + size_at(24 + 8);
    bytes.erase(second, 16 + size_at(second + 8));
    const house::TemporaryFolder folder;
    const JudgeOptions options{.files = {folder.file("short.pcap", bytes)}};
    JudgeOptions strict = options;
    strict.strict = true;
    const Ran lenient = ran(options);
    CHECK(lenient.code == 0);
    CHECK(ran(strict).code == (lenient.out.find(" 0 possible") == std::string::npos ? 1 : 0));
}

TEST_CASE("judge command: JSON is one document for all files", "[judge]") {
    const Changed changed("rxe-send-imm.pcap", kFirstPayload, '\x55');
    const Ran result = ran({.files = {changed.path(), pcap("rxe-atomic.pcap")},
                            .format = JudgeFormat::Json,
                            .recorded_at = {"10.77.0.1", "10.77.0.2"}});
    CHECK(result.code == 1);
    CHECK(result.out.starts_with(
        "{\"schema\":\"veriroce/violations/1\",\"violations\":[\n{\"file\":"));
    CHECK(result.out.find("\"rule\":\"CRC-01\",\"level\":\"MUST\",\"certainty\":\"certain\"") !=
          std::string::npos);
    CHECK(result.out.find("\"packets\":[1],\"measured\":\"ICRC is 0x") != std::string::npos);
    CHECK(result.out.find("\"allowed\":\"ICRC must be 0x") != std::string::npos);
    CHECK(result.out.ends_with("\n]}\n"));
    const Ran none = ran({.files = {pcap("rxe-atomic.pcap")}, .format = JudgeFormat::Json});
    CHECK(none.out == "{\"schema\":\"veriroce/violations/1\",\"violations\":[\n]}\n");
}

TEST_CASE("judge command: below a violation stand its packets", "[judge]") {
    const Changed changed("rxe-send-imm.pcap", kFirstPayload, '\x55');
    const std::vector<std::string> ports{"10.77.0.1", "10.77.0.2"};
    const Ran text = ran({.files = {changed.path()}, .recorded_at = ports});
    CHECK(text.out.find("\n        1   0.000000 ") != std::string::npos);
    CHECK(text.out.find(" RRoCE ") != std::string::npos);
    const Ran json =
        ran({.files = {changed.path()}, .format = JudgeFormat::Json, .recorded_at = ports});
    CHECK(json.out.find("\"lines\":[\"    1   0.000000 ") != std::string::npos);
}

TEST_CASE("judge command: a capture of which nothing was judged exits 3", "[judge]") {
    const house::TemporaryFolder folder;
    // The same frames under another link type: Bluetooth, then InfiniBand.
    std::string bytes = house::read_text(pcap("rxe-send-imm.pcap"));
    const auto linked = [&](int link) {
        bytes.at(20) = static_cast<char>(link);
        return ran({.files = {folder.file("linked.pcap", bytes)}});
    };
    const Ran other = linked(187);
    CHECK(other.code == 3);
    CHECK(other.out.starts_with("RoCEv2 packets: 0, connections: 0"));
    CHECK(other.err.find("linked.pcap: nothing was judged: 11 frames; 11 frames of unsupported "
                         "link type 187; no RoCEv2 packets\n") != std::string::npos);
    const Ran native = linked(247);
    CHECK(native.code == 3);
    CHECK(native.err.find("nothing was judged: 11 frames") != std::string::npos);
    const Ran empty = ran({.files = {folder.file("empty.pcap", bytes.substr(0, 24))}});
    CHECK(empty.code == 3);
    CHECK(empty.err.find("nothing was judged: 0 frames; no RoCEv2 packets") != std::string::npos);
    // Datagrams have no connections, but each of them is judged by itself.
    const Ran datagrams = ran({.files = {pcap("rxe-ud-verbs.pcap")}});
    CHECK(datagrams.code == 0);
    CHECK(datagrams.err.empty());
    CHECK(datagrams.out == "RoCEv2 packets: 4, connections: 0; violations: 0 certain, 0 possible; "
                           "only rules of single packets were judged\n");
}

TEST_CASE("judge command: packets that are all damaged are not a pass", "[judge]") {
    const house::TemporaryFolder folder;
    std::string bytes = house::read_text(pcap("rxe-nak-access-read.pcap"));
    // Two packets: the last byte of each is one of its ICRC.
    const auto size = static_cast<std::size_t>(static_cast<unsigned char>(bytes.at(24 + 8)));
    bytes.at(24 + 16 + size - 1) ^= 0x40;
    bytes.back() = static_cast<char>(bytes.back() ^ 0x40);
    const Ran damaged = ran({.files = {folder.file("damaged.pcap", bytes)}});
    CHECK(damaged.code == 3);
    CHECK(damaged.err.find("RoCEv2 packets with a wrong ICRC: 2") != std::string::npos);
}

TEST_CASE("judge command: packets in IP fragments are told", "[judge][ENC-09]") {
    const house::TemporaryFolder folder;
    std::string bytes = house::read_text(pcap("rxe-send-imm.pcap"));
    constexpr std::size_t kFirst = 24 + 16;
    const auto size = static_cast<std::size_t>(static_cast<unsigned char>(bytes.at(24 + 8)));
    const auto fragment = [&](std::size_t frame, int flags, int offset) {
        bytes.at(frame + 14 + 6) = static_cast<char>(flags);
        bytes.at(frame + 14 + 7) = static_cast<char>(offset);
    };
    fragment(kFirst, 0x20, 0);
    fragment(kFirst + size + 16, 0, 8);
    const Ran result = ran({.files = {folder.file("fragments.pcap", bytes)}});
    CHECK(result.code == 0);
    CHECK(result.out.starts_with("RoCEv2 packets: 9, connections: 1;"));
    CHECK(result.out.ends_with("; RoCEv2 packets in IP fragments, not judged: 1; IP fragments "
                               "without headers, not judged: 1\n"));
    // Nothing else: not a pass.
    const std::string two = bytes.substr(0, kFirst + size);
    const Ran nothing = ran({.files = {folder.file("one.pcap", two)}});
    CHECK(nothing.code == 3);
    CHECK(nothing.err.find("1 frames; RoCEv2 packets in IP fragments, not judged: 1\n") !=
          std::string::npos);
}

TEST_CASE("judge command: IP checksums that are left to the NIC are told", "[judge][N-03]") {
    const house::TemporaryFolder folder;
    std::string bytes = house::read_text(pcap("rxe-nak-access-read.pcap"));
    constexpr std::size_t kChecksum = 24 + 16 + 14 + 10;
    bytes.at(kChecksum) = bytes.at(kChecksum + 1) = '\0';
    const Ran left = ran({.files = {folder.file("left.pcap", bytes)}});
    CHECK(left.code == 0);
    CHECK(left.out == "RoCEv2 packets: 2, connections: 1; violations: 0 certain, 0 possible; "
                      "packets with the IP checksum left to the NIC: 1\n");
}

TEST_CASE("judge command: requests that nobody answers are told", "[judge][ACK-01]") {
    const Ran silent = ran({.files = {pcap("rxe-retry-exceeded.pcap")}});
    const Ran patient = ran({.files = {pcap("rxe-retry-exceeded.pcap")}, .patience_ms = 10});
    CHECK(patient.code == 0);
    CHECK(patient.out.find("ACK-01   MUST   possible") != std::string::npos);
    CHECK(patient.out.find("ask for an answer, and none came within") != std::string::npos);
    CHECK(silent.code == 0); // the capture ends less than a second later
    CHECK(silent.out.find("ACK-01") == std::string::npos);
}

TEST_CASE("judge command: files that cannot be read exit 3", "[judge]") {
    const Ran result = ran({.files = {"missing.pcap", pcap("rxe-atomic.pcap")}});
    CHECK(result.code == 3);
    CHECK(result.err == "veriroce: missing.pcap: No such file or directory\n");
    CHECK(result.out.find("RoCEv2 packets: 120, ") != std::string::npos);
    CHECK(ran({}).code == 2);
}

} // namespace veriroce::commands::test
