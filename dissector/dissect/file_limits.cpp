#include "dissector/dissect/file_limits.hpp"

#include <algorithm>
#include <charconv>
#include <string_view>

#include <fmt/format.h>

namespace veriroce::dissect {
namespace {

constexpr std::uint64_t kKilobyte = 1000; // as tshark counts
constexpr std::uint64_t kLargest = 1'000'000'000'000;

std::optional<std::uint64_t> limit_of(std::string_view text) {
    std::uint64_t value = 0;
    const auto end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, value);
    if (error != std::errc{} || stop != end || value == 0 || value > kLargest) return std::nullopt;
    return value;
}

} // namespace

bool FileLimits::reached(std::chrono::steady_clock::time_point since, std::uint64_t written_bytes,
                         std::uint64_t written_packets) const {
    if (bytes && written_bytes >= *bytes) return true;
    if (packets && written_packets >= *packets) return true;
    return duration && std::chrono::steady_clock::now() - since >= *duration;
}

std::expected<FileLimits, std::string> file_limits(std::span<const std::string> words) {
    FileLimits limits;
    for (const std::string_view word : words) {
        const std::size_t colon = std::min(word.find(':'), word.size());
        const std::string_view name = word.substr(0, colon);
        const auto value = limit_of(word.substr(std::min(colon + 1, word.size())));
        if (value && name == "duration") {
            limits.duration = std::chrono::seconds(*value);
        } else if (value && name == "filesize") {
            limits.bytes = *value * kKilobyte;
        } else if (value && name == "packets") {
            limits.packets = value;
        } else if (value && name == "files") {
            limits.files = value;
        } else {
            return std::unexpected(fmt::format(
                "expected duration:SECONDS, filesize:KB, packets:N or files:N, got '{}'", word));
        }
    }
    return limits;
}

} // namespace veriroce::dissect
