// The frames of several capture files as those of one capture, in the order of their times: rotated
// files in whatever order they are given, or files that were captured at the same time.
//
//   MergedFrames frames(std::move(readers), 16);
//   for (auto some = frames.next(); !some.empty(); some = frames.next()) analyzer.observe(some);
//   for (const auto& [file, error] : frames.errors()) ...
//
// Each file keeps its own order. A frame without a time follows the one before it. Frames are
// numbered from 1 over all files. A file that cannot be read to its end gives the frames before.
#pragma once

#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "dissector/capture/reader.hpp"
#include "dissector/decode/decoder.hpp"

namespace veriroce::capture {

class MergedFrames {
  public:
    // next() returns up to `together` frames if all readers keep their bytes, otherwise one.
    MergedFrames(std::vector<Reader> readers, std::size_t together,
                 const decode::Options& options = {});

    // Empty at the end. Valid until the next call.
    std::span<const decode::Dissection> next();
    // By the index of the reader.
    [[nodiscard]] const std::vector<std::pair<std::size_t, ReadError>>& errors() const {
        return errors_;
    }

  private:
    struct Input {
        explicit Input(Reader opened) : reader(std::move(opened)) {}
        Reader reader;
        Record record;
        std::int64_t time_ns = 0;
        bool taken = true; // the record was used
        bool ended = false;
    };

    void advance(std::size_t index);
    bool choose();

    std::vector<Input> inputs_;
    std::vector<decode::Dissection> frames_;
    decode::Options options_;
    std::size_t current_ = 0;
    std::optional<std::int64_t> limit_ns_; // the earliest of the other inputs
    bool begun_ = false;
    bool keeps_ = true;
    std::uint64_t number_ = 0;
    std::vector<std::pair<std::size_t, ReadError>> errors_;
};

} // namespace veriroce::capture
