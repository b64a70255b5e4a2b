#include "conformance/commands/judge_connections.hpp"

#include <charconv>
#include <optional>

#include <fmt/format.h>

namespace veriroce::commands {
namespace {

using Words = std::vector<std::string_view>;

Words words_of(std::string_view line) {
    line = line.substr(0, line.find('#'));
    Words words;
    constexpr std::string_view kBlank = " \t\r";
    for (;;) {
        const std::size_t begin = line.find_first_not_of(kBlank);
        if (begin == std::string_view::npos) return words;
        line.remove_prefix(begin);
        const std::size_t end = std::min(line.find_first_of(kBlank), line.size());
        words.push_back(line.substr(0, end));
        line.remove_prefix(end);
    }
}

std::optional<std::uint32_t> number_of(std::string_view word, std::uint32_t most) {
    const bool hex = word.starts_with("0x");
    if (hex) word.remove_prefix(2);
    std::uint32_t value = 0;
    const auto [end, error] =
        std::from_chars(word.data(), word.data() + word.size(), value, hex ? 16 : 10);
    if (error != std::errc() || end != word.data() + word.size() || value > most) {
        return std::nullopt;
    }
    return value;
}

std::optional<wire::Mtu> mtu_of(std::string_view word) {
    for (const wire::Mtu mtu :
         {wire::Mtu::B256, wire::Mtu::B512, wire::Mtu::B1024, wire::Mtu::B2048, wire::Mtu::B4096}) {
        if (number_of(word, 4096) == wire::bytes_of(mtu)) return mtu;
    }
    return std::nullopt;
}

// Both ends' values of one attribute; empty, or what is wrong.
std::string set_both(std::array<flow::Introduction, 2>& ends, std::string_view name,
                     std::string_view values) {
    const std::size_t comma = values.find(',');
    if (comma == std::string_view::npos)
        return fmt::format("{}=: expected two numbers, got '{}'", name, values);
    const std::array parts{values.substr(0, comma), values.substr(comma + 1)};
    for (std::size_t i = 0; i < 2; ++i) {
        flow::Attributes& attributes = ends[i].attributes;
        const std::uint32_t most = name == "psn" ? wire::kMask24 : name == "timeout" ? 31 : 255;
        const auto value = number_of(parts[i], most);
        if (!value)
            return fmt::format("{}=: expected a number up to {}, got '{}'", name, most, parts[i]);
        if (name == "psn") attributes.first_psn = wire::Psn(*value);
        if (name == "reads") attributes.max_rd_atomic = *value;
        if (name == "timeout") attributes.timeout = static_cast<std::uint8_t>(*value);
    }
    return {};
}

std::string set_attribute(std::array<flow::Introduction, 2>& ends, std::string_view word) {
    const std::size_t equals = word.find('=');
    const std::string_view name = word.substr(0, equals);
    const std::string_view values =
        equals == std::string_view::npos ? std::string_view{} : word.substr(equals + 1);
    if (name == "psn" || name == "reads" || name == "timeout") {
        return set_both(ends, name, values);
    }
    if (word == "open") {
        for (flow::Introduction& end : ends)
            end.attributes.stays_open = true;
        return {};
    }
    if (name != "mtu")
        return fmt::format("expected mtu=, psn=, reads=, timeout= or open, got '{}'", word);
    const auto mtu = mtu_of(values);
    if (!mtu) return fmt::format("mtu=: expected 256, 512, 1024, 2048 or 4096, got '{}'", values);
    ends[0].attributes.mtu = ends[1].attributes.mtu = mtu;
    return {};
}

std::string set_connection(std::array<flow::Introduction, 2>& ends, const Words& words) {
    if (words.size() < 4) return "expected ADDRESS QP ADDRESS QP";
    for (std::size_t i = 0; i < 2; ++i) {
        const auto address = wire::IpAddress::parse(words[2 * i]);
        if (!address) return fmt::format("expected an IP address, got '{}'", words[2 * i]);
        const auto qpn = number_of(words[2 * i + 1], wire::kMask24);
        if (!qpn) return fmt::format("expected a QP number, got '{}'", words[2 * i + 1]);
        ends[i].address = *address;
        ends[i].qpn = {*qpn};
    }
    for (std::size_t i = 4; i < words.size(); ++i) {
        if (std::string wrong = set_attribute(ends, words[i]); !wrong.empty()) return wrong;
    }
    return {};
}

} // namespace

std::expected<KnownConnections, ConnectionsError> parse_connections(std::string_view text) {
    KnownConnections labels;
    for (std::size_t number = 1; !text.empty(); ++number) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        const Words words = words_of(text.substr(0, end));
        text.remove_prefix(std::min(end + 1, text.size()));
        if (words.empty()) continue;
        std::array<flow::Introduction, 2> ends;
        if (std::string wrong = set_connection(ends, words); !wrong.empty()) {
            return std::unexpected(ConnectionsError{number, std::move(wrong)});
        }
        labels.push_back(ends);
    }
    return labels;
}

} // namespace veriroce::commands
