// A stream of bytes from a file, a pipe or memory. A regular file is memory-mapped and not copied;
// everything else goes through one buffer. gzip and zstd input, from files or pipes, is
// decompressed here, so that the format readers do not have to know.
#pragma once

#include <atomic>
#include <expected>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "dissector/capture/error.hpp"
#include "dissector/wire/bytes.hpp"

namespace veriroce::capture {

class PagePrefetcher;
class Decompressor;

class Source {
  public:
    // "-" is standard input. Once `stop` is set, a pipe counts as ended where it has no more bytes.
    static std::expected<Source, ReadError> open(const std::string& path,
                                                 const std::atomic<bool>* stop = nullptr);
    // The caller keeps the memory alive.
    static Source over(wire::Bytes memory);
    // A stream of the decompressed bytes of `source`, or `source` itself if it is not compressed.
    static Source decompressed(Source source);

    Source(const Source&) = delete;
    Source& operator=(const Source&) = delete;
    Source(Source&& other) noexcept;
    Source& operator=(Source&& other) noexcept;
    ~Source();

    // The next `count` bytes, or all that are left if there are fewer. Nothing is consumed. The
    // bytes stay in place until the next call of ahead().
    wire::Bytes ahead(std::size_t count) {
        if (window_.size() - position_ < count && growing_) refill(count);
        const std::size_t left = window_.size() - position_;
        return window_.subspan(position_, count < left ? count : left);
    }
    // What ahead() can return without reading more.
    [[nodiscard]] wire::Bytes at_hand() const { return window_.subspan(position_); }
    // `count` is at most the size that ahead() returned.
    void skip(std::size_t count) {
        assert(count <= window_.size() - position_);
        position_ += count;
    }

    // Bytes consumed so far, counted after decompression.
    [[nodiscard]] std::uint64_t offset() const { return before_window_ + position_; }
    // The fraction of the input that was consumed, 0 to 1. Empty for a pipe.
    [[nodiscard]] std::optional<double> part_done() const;
    // Why ahead() returned fewer bytes than asked for, unless the input ended.
    [[nodiscard]] const std::optional<ReadError>& error() const { return error_; }
    // What to tell of a file whose format needs more bytes than ahead() returned.
    [[nodiscard]] ReadError too_short() const {
        return error_.value_or(ReadError{.kind = ReadErrorKind::Truncated, .offset = offset()});
    }
    // Whether the whole input is in memory and stays there.
    [[nodiscard]] bool whole() const { return !growing_ || !map_.empty(); }
    // Whether the input is compressed.
    [[nodiscard]] bool compressed() const { return decompressor_ != nullptr; }

  private:
    Source();
    void refill(std::size_t count);
    void show_more(std::size_t count);
    std::size_t read_some(std::span<std::byte> out);
    [[nodiscard]] bool wait() const;
    void release();

    wire::Bytes window_;       // the available bytes: the beginning of the map, or the buffer
    std::size_t position_ = 0; // in the window
    std::uint64_t before_window_ = 0; // input bytes before the window
    wire::Bytes map_;                 // of a regular file
    std::unique_ptr<PagePrefetcher> pages_;
    std::vector<std::byte> buffer_; // used if the input is not mapped
    int file_ = -1;                 // of a pipe
    std::unique_ptr<Decompressor> decompressor_;
    const std::atomic<bool>* stop_ = nullptr;
    bool growing_ = false; // more input may follow the window
    std::optional<ReadError> error_;
};

} // namespace veriroce::capture
