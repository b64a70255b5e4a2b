// `-w`: writes packets as pcapng, with their findings as packet comments. Internal to this room.
//
// With limits (-b) it begins the next file when one is full: out.pcapng becomes
// out_00001_20261122213000.pcapng, out_00002_..., as in tshark. If the number of files is limited,
// the oldest is removed.
#pragma once

#include <chrono>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "dissector/capture/pcapng_writer.hpp"
#include "dissector/decode/dissection.hpp"
#include "dissector/dissect/file_limits.hpp"

namespace veriroce::dissect {

struct RewriteError {
    capture::WriteError error;
    std::string file;
};

class Rewriter {
  public:
    static std::expected<Rewriter, RewriteError>
    create(const std::string& path, std::uint32_t snap_length, std::optional<FileLimits> ring);

    // Call before the packets of another file, which has its own interfaces.
    void begin_file() { first_interface_ = interfaces_; }
    // Keeps bytes, time, interface, direction and comments, and adds a comment for each finding
    // that has none yet. A packet without a time is written without one if a simple packet block
    // can hold it (PcapngWriter::has_simple_shape). Otherwise it gets the time 0 and a comment that
    // says so; a time before 1970 also becomes 0.
    std::expected<void, RewriteError> write(const capture::Record& record,
                                            std::span<const capture::Interface> interfaces,
                                            const decode::Dissection& dissection);
    std::expected<void, RewriteError> flush();
    std::expected<void, RewriteError> finish();

    [[nodiscard]] std::uint64_t bytes() const { return writer_->bytes(); } // of the current file
    [[nodiscard]] std::uint64_t files() const { return files_; }           // begun so far

  private:
    Rewriter(std::string path, std::uint32_t snap_length, std::optional<FileLimits> ring)
        : path_(std::move(path)), snap_length_(snap_length), ring_(std::move(ring)) {}
    std::expected<void, RewriteError> open_next();
    std::expected<void, RewriteError> describe(std::span<const capture::Interface> interfaces);
    [[nodiscard]] std::unexpected<RewriteError> failed(const capture::WriteError& error) const;
    void collect_comments(const capture::Record& record, const decode::Dissection& dissection);

    std::string path_;
    std::uint32_t snap_length_; // -s; 0: none
    std::optional<FileLimits> ring_;
    std::optional<capture::PcapngWriter> writer_;
    std::deque<std::string> names_; // of the files that are kept; the last is being written
    std::uint64_t files_ = 0;       // begun so far
    std::uint64_t packets_ = 0;     // of the current file
    std::chrono::steady_clock::time_point began_;
    std::uint32_t interfaces_ = 0;      // written so far
    std::uint32_t first_interface_ = 0; // of this file
    std::vector<std::string> comments_; // of the current packet
};

} // namespace veriroce::dissect
