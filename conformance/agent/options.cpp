#include "conformance/agent/options.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <memory>
#include <variant>

namespace veriroce::agent {

namespace {

using Text = std::string Options::*;
using Count = std::uint32_t dut::AgentLimits::*;
using Size = std::uint64_t dut::AgentLimits::*;

struct Row {
    std::string_view name;
    std::variant<Text, Count, Size> target;
};

constexpr std::array<Row, 12> rows{{
    {"--listen", &Options::listen},
    {"--token-file", &Options::token_file},
    {"--backend", &Options::backend},
    {"--device", &Options::device},
    {"--address", &Options::address},
    {"--interface", &Options::interface},
    {"--check", &Options::check},
    {"--max-connections", &dut::AgentLimits::connections},
    {"--max-registered", &dut::AgentLimits::registered_bytes},
    {"--max-qps", &dut::AgentLimits::qps},
    {"--max-queued", &dut::AgentLimits::queued_bytes},
    {"--max-line", &dut::AgentLimits::line_bytes},
}};

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

// False if the value is not what the option takes.
bool store(Options& options, const Row& row, std::string_view value) {
    if (const auto* text = std::get_if<Text>(&row.target)) {
        options.** text = value;
        return !value.empty();
    }
    const auto size = parse_size(value);
    if (!size) return false;
    if (const auto* count = std::get_if<Count>(&row.target)) {
        options.limits.** count =
            static_cast<std::uint32_t>(std::min<std::uint64_t>(*size, 0xFFFFFFFF));
    } else {
        options.limits.*std::get<Size>(row.target) = *size;
    }
    return true;
}

} // namespace

std::string_view usage() {
    return R"(Usage: veriroce-agent [OPTION...]
Serves the DUT contract (JSON-RPC, one object a line): what a test engineer would type on the
device's host. The data path is RoCEv2 on the device's own port.

  --listen ADDR:PORT | unix:PATH   where to listen (127.0.0.1:4790); on any address but loopback
                                   a token file is demanded
  --token-file FILE                callers must know the first line of FILE (mode 600)
  --backend NAME                   verbs (an RDMA device; default), or engine (our own; only in
                                   `veriroce agent`)
  --device NAME                    the RDMA device, where there are several
  --address ADDR                   engine: the local address that it speaks RoCEv2 on, by a UDP
                                   socket; with --interface one that the kernel does not own
  --interface IFACE                engine: raw frames on this interface
  --max-connections N              connections at a time (8)
  --max-registered SIZE            bytes registered by all of them (1G)
  --max-qps N                      QPs of all of them (4096)
  --max-queued SIZE                bytes of answers that wait for one caller (64M)
  --max-line SIZE                  bytes of one line (16M)
  --check ADDR:PORT | unix:PATH    serve nothing: ask the agent there every call of the contract,
                                   and say what is wrong (exit 1) or that nothing is (exit 0)
  --help                           this text

Token and data travel in clear: over a network that is not yours use a tunnel (ssh -L).
)";
}

std::expected<Options, std::string> parse_options(std::span<const std::string_view> words) {
    Options options;
    for (std::size_t i = 0; i < words.size(); ++i) {
        const std::string_view word = words[i];
        if (word == "--help" || word == "-h") {
            options.help = true;
            return options;
        }
        const auto equals = word.find('=');
        const auto name = word.substr(0, equals);
        const auto* row = std::ranges::find(rows, name, &Row::name);
        if (row == rows.end()) {
            return std::unexpected("unknown option \"" + std::string(word) + "\": see --help");
        }
        if (equals == std::string_view::npos && i + 1 == words.size()) {
            return std::unexpected(std::string(name) + " needs a value: see --help");
        }
        const auto value = equals == std::string_view::npos ? words[++i] : word.substr(equals + 1);
        if (!store(options, *row, value)) {
            return std::unexpected(std::string(name) + " cannot be \"" + std::string(value) +
                                   "\": see --help");
        }
    }
    return options;
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
                               " must hold a token of 1 to 1023 bytes in its first line");
    }
    return std::string(token);
}

} // namespace veriroce::agent
