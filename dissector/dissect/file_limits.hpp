// The conditions of -a (end) and -b (next file): "duration:10", "filesize:1024". Internal to this
// room.
#pragma once

#include <chrono>
#include <cstdint>
#include <expected>
#include <optional>
#include <span>
#include <string>

namespace veriroce::dissect {

struct FileLimits {
    std::optional<std::chrono::seconds> duration;
    std::optional<std::uint64_t> bytes; // of the file that -w writes
    std::optional<std::uint64_t> packets;
    std::optional<std::uint64_t> files;

    // Whether a file that has these, and may not grow further, is full.
    [[nodiscard]] bool reached(std::chrono::steady_clock::time_point since,
                               std::uint64_t written_bytes, std::uint64_t written_packets) const;
};

// From words NAME:N: duration in seconds, filesize in kB, packets, files. The error quotes the word
// that is none.
std::expected<FileLimits, std::string> file_limits(std::span<const std::string> words);

} // namespace veriroce::dissect
