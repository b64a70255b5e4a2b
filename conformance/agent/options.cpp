#include "conformance/agent/options.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <limits>
#include <memory>
#include <optional>

namespace veriroce::agent {

namespace {

using command_line::Command;

// "512", "64K", "16M", "1G".
std::optional<std::uint64_t> parse_size(std::string_view text) {
    std::uint64_t factor = 1;
    constexpr std::string_view units = "KMG";
    if (!text.empty()) {
        const auto unit = units.find(text.back());
        if (unit != std::string_view::npos) {
            factor = std::uint64_t{1} << (10 * (unit + 1));
            text.remove_suffix(1);
        }
    }
    std::uint64_t number = 0;
    const auto* end = text.data() + text.size();
    const auto result = std::from_chars(text.data(), end, number);
    if (result.ec != std::errc{} || result.ptr != end) return std::nullopt;
    if (number == 0 || number > (std::uint64_t{1} << 50) / factor) return std::nullopt;
    return number * factor;
}

void add_text(Command& command, const char* name, std::string& text, const char* help,
              const char* value) {
    const auto read = [&text](const std::string& word) -> std::expected<void, std::string> {
        if (word.empty()) return std::unexpected("a value");
        text = word;
        return {};
    };
    command.option(name, read, help, {.value = value});
}

template <typename Limit>
void add_limit(Command& command, const char* name, Limit& limit, const char* help) {
    const auto read = [&limit](const std::string& word) -> std::expected<void, std::string> {
        const auto size = parse_size(word);
        if (!size) return std::unexpected("a number such as 512, 64K, 16M or 1G");
        constexpr std::uint64_t most = std::numeric_limits<Limit>::max();
        limit = static_cast<Limit>(std::min(*size, most));
        return {};
    };
    command.option(name, read, help, {.value = "SIZE"});
}

} // namespace

void add_options(Command command, Options& options) {
    add_text(command, "--listen", options.listen,
             "Where to listen; the default is 127.0.0.1:4790. Any other address than loopback "
             "needs --token-file",
             "ADDR:PORT|unix:PATH");
    add_text(command, "--token-file", options.token_file,
             "The first line of FILE (mode 600) is the token; callers must send it", "FILE");
    add_text(command, "--backend", options.backend,
             "verbs (an RDMA device; the default), or engine (the built-in one; only in "
             "'veriroce agent')",
             "NAME");
    add_text(command, "--device", options.device, "The RDMA device, if there are several", "NAME");
    add_text(command, "--address", options.address,
             "Backend engine: the local address for RoCEv2 over a UDP socket; with --interface, an "
             "address that the kernel does not own",
             "ADDR");
    add_text(command, "--interface", options.interface,
             "Backend engine: send and receive raw frames on this interface", "IFACE");
    add_limit(command, "--max-connections", options.limits.connections,
              "Connections with a right token at a time (8)");
    add_limit(command, "--max-registered", options.limits.registered_bytes,
              "Bytes that all connections may register, in whole pages with two guard pages each "
              "(1G)");
    add_limit(command, "--max-qps", options.limits.qps, "QPs of all connections (4096)");
    add_limit(command, "--max-objects", *options.limits.objects,
              "PDs, CQs, SRQs and memory windows of all connections (16384)");
    command.number("--max-idle", *options.limits.idle_seconds, {61, 86'400},
                   "Close a connection after this many seconds without a byte in either direction; "
                   "one call may wait for 60",
                   {.value = "SECONDS", .shows_default = true});
    add_limit(command, "--max-queued", options.limits.queued_bytes,
              "Bytes of answers that wait for one caller (64M)");
    add_limit(command, "--max-line", options.limits.line_bytes, "Bytes of one line (16M)");
    add_text(
        command, "--check", options.check,
        "Do not serve: make every call of the contract to the agent at this address, and report "
        "the result (exit code 0 if all is right, 1 if not)",
        "ADDR:PORT|unix:PATH");
    command.footer(
        "The agent serves the DUT contract (JSON-RPC, one object per line). The data "
        "path is RoCEv2 on the device's own port.\n"
        "The token and the data are not encrypted: over a network that you do not own, use "
        "a tunnel (ssh -L).");
}

std::expected<std::string, std::string> read_token(const std::string& path) {
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "re"),
                                                               &std::fclose);
    struct stat status{};
    if (file == nullptr || fstat(fileno(file.get()), &status) != 0) {
        return std::unexpected("cannot read the token file " + path + ": " + std::strerror(errno));
    }
    if ((status.st_mode & (S_IRWXG | S_IRWXO)) != 0) {
        return std::unexpected("others can read the token file " + path + ": chmod 600 it");
    }
    std::array<char, 1024> text{};
    const auto size = std::fread(text.data(), 1, text.size(), file.get());
    const std::string_view content(text.data(), size);
    const auto token = content.substr(0, content.find_first_of("\r\n"));
    if (token.empty() || token.size() == text.size()) {
        return std::unexpected("the token file " + path +
                               " must have a token of 1 to 1023 bytes in its first line");
    }
    return std::string(token);
}

} // namespace veriroce::agent
