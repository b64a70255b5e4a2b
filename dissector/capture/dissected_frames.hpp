// The frames of a capture file, dissected one after the other: the loop of every command that reads
// a whole file.
//
//   DissectedFrames frames(reader);
//   for (auto some = frames.next(); !some.empty(); some = frames.next()) judge.observe(some);
//   if (frames.error()) ...
//
// Frames are numbered from 1. Errors: ReadError, for a file that cannot be read to its end.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "dissector/capture/reader.hpp"
#include "dissector/decode/dissection.hpp"

namespace veriroce::capture {

class DissectedFrames {
  public:
    // next() returns up to `together` frames if the reader keeps their bytes, otherwise one.
    explicit DissectedFrames(Reader& reader, std::size_t together = 1);

    // Empty at the end of the file, and after an error. Valid until the next call.
    std::span<const decode::Dissection> next();
    // Why the file ended early; next() has returned all frames before the error.
    [[nodiscard]] const std::optional<ReadError>& error() const { return error_; }

  private:
    Reader& reader_;
    std::vector<decode::Dissection> frames_;
    std::uint64_t number_ = 0;
    std::optional<ReadError> error_;
    bool ended_ = false;
};

} // namespace veriroce::capture
