// The command `veriroce judge` in this process: output and exit codes.
#include <catch2/catch.hpp>

#include <algorithm>
#include <filesystem>

#include "conformance/commands/judge.hpp"
#include "tests/temporary_folder.hpp"
#include "tests/text.hpp"

namespace veriroce::commands::test {
namespace {

struct Ran {
    int code = -1;
    std::string out;
    std::string err;
};

std::string text_of(std::FILE* file) {
    std::rewind(file);
    std::string text;
    for (int c = std::fgetc(file); c != EOF; c = std::fgetc(file))
        text += static_cast<char>(c);
    std::fclose(file);
    return text;
}

Ran ran(const JudgeOptions& options) {
    std::FILE* out = std::tmpfile();
    std::FILE* err = std::tmpfile();
    Ran result;
    result.code = run_judge(options, out, err);
    result.out = text_of(out);
    result.err = text_of(err);
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

// Behind the file's header, the packet's, Ethernet, IP, UDP and BTH: the first payload byte of the
// first packet of rxe-send-imm, whose ICRC is then wrong.
constexpr std::size_t kFirstPayload = 24 + 16 + 14 + 20 + 8 + 12;

} // namespace

TEST_CASE("judge command: a lawful capture has a summary and exit code 0", "[judge]") {
    const Ran result = ran({.files = {pcap("rxe-send-imm.pcap")}});
    CHECK(result.code == 0);
    CHECK(result.err.empty());
    CHECK(result.out == "11 RoCEv2 packets, 1 connections: 0 certain, 0 possible violations\n");
    CHECK(ran({.files = {pcap("rxe-send-imm.pcap")}, .quiet = true}).out.empty());
}

TEST_CASE("judge command: a certain violation is printed and exits 1", "[judge]") {
    const Changed changed("rxe-send-imm.pcap", kFirstPayload, '\x55');
    const Ran damaged = ran({.files = {changed.path()}});
    CHECK(damaged.code == 0); // noise looks the same
    CHECK(damaged.out.find("1 packets with a wrong ICRC") != std::string::npos);
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

TEST_CASE("judge command: files that cannot be read exit 3", "[judge]") {
    const Ran result = ran({.files = {"missing.pcap", pcap("rxe-atomic.pcap")}});
    CHECK(result.code == 3);
    CHECK(result.err == "veriroce: missing.pcap: No such file or directory\n");
    CHECK(result.out.find("120 RoCEv2 packets") != std::string::npos);
    CHECK(ran({}).code == 2);
}

} // namespace veriroce::commands::test
