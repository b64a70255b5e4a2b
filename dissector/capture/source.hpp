// Bytes in order from a file, a pipe or memory. A regular file is mapped, so that nothing is
// copied; everything else goes through one buffer. What is compressed with gzip or zstd, whole
// files and pipes alike, is unpacked on the way, so that formats never see it.
#pragma once

#include <expected>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "dissector/capture/error.hpp"
#include "dissector/wire/bytes.hpp"

namespace veriroce::capture {

class PagesAhead;
class Unpacker;

class Source {
  public:
    // "-" is standard input.
    static std::expected<Source, ReadError> open(const std::string& path);
    // The caller keeps the memory.
    static Source over(wire::Bytes memory);
    // The bytes that `source` holds compressed, or `source` itself if it does not begin so.
    static Source unpacked(Source source);

    Source(const Source&) = delete;
    Source& operator=(const Source&) = delete;
    Source(Source&& other) noexcept;
    Source& operator=(Source&& other) noexcept;
    ~Source();

    // The next `count` bytes, or all that are left if there are fewer; nothing is consumed. They
    // stay where they are until the next call of ahead().
    wire::Bytes ahead(std::size_t count) {
        if (window_.size() - position_ < count && growing_) refill(count);
        const std::size_t left = window_.size() - position_;
        return window_.subspan(position_, count < left ? count : left);
    }
    // All that ahead() could give without reading on.
    [[nodiscard]] wire::Bytes at_hand() const { return window_.subspan(position_); }
    // `count` is at most what was given ahead.
    void skip(std::size_t count) {
        assert(count <= window_.size() - position_);
        position_ += count;
    }

    // Bytes consumed so far, counted after unpacking.
    [[nodiscard]] std::uint64_t offset() const { return before_window_ + position_; }
    // How much of the input was consumed, from 0 to 1. Nothing for a pipe.
    [[nodiscard]] std::optional<double> part_done() const;
    // Why ahead() gave fewer bytes, if it was not the end of the input.
    [[nodiscard]] const std::optional<ReadError>& error() const { return error_; }
    // Whether all of it is at hand, and stays there.
    [[nodiscard]] bool whole() const { return !growing_ || !map_.empty(); }
    // Whether the input is compressed.
    [[nodiscard]] bool unpacks() const { return unpacker_ != nullptr; }

  private:
    Source();
    void refill(std::size_t count);
    void show_more(std::size_t count);
    std::size_t read_some(std::span<std::byte> out);
    void release();

    wire::Bytes window_;              // what is at hand: of the map its beginning, or the buffer
    std::size_t position_ = 0;        // in the window
    std::uint64_t before_window_ = 0; // bytes of the input before the window's first
    wire::Bytes map_;                 // of a regular file
    std::unique_ptr<PagesAhead> pages_;
    std::vector<std::byte> buffer_; // of what is not mapped
    int file_ = -1;                 // of a pipe
    std::unique_ptr<Unpacker> unpacker_;
    bool growing_ = false; // there may be more than the window holds
    std::optional<ReadError> error_;
};

} // namespace veriroce::capture
