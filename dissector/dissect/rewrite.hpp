// `-w`: writes packets as pcapng, with their findings as packet comments. Internal to this room.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "dissector/capture/pcapng_writer.hpp"
#include "dissector/decode/dissection.hpp"

namespace veriroce::dissect {

class Rewriter {
  public:
    static std::expected<Rewriter, capture::WriteError> create(const std::string& path);

    // Call before the packets of another file, which has its own interfaces.
    void begin_file() { first_interface_ = interfaces_; }
    // Keeps bytes, time, interface, direction and comments, and adds a comment for each finding
    // that has none yet. A packet without a time is written without one if a simple packet block
    // can hold it (PcapngWriter::has_simple_shape). Otherwise it gets the time 0 and a comment that
    // says so; a time before 1970 also becomes 0.
    std::expected<void, capture::WriteError> write(const capture::Record& record,
                                                   std::span<const capture::Interface> interfaces,
                                                   const decode::Dissection& dissection);
    std::expected<void, capture::WriteError> flush() { return writer_.flush(); }
    std::expected<void, capture::WriteError> finish() { return writer_.finish(); }

  private:
    explicit Rewriter(capture::PcapngWriter writer) : writer_(std::move(writer)) {}
    void collect_comments(const capture::Record& record, const decode::Dissection& dissection);

    capture::PcapngWriter writer_;
    std::uint32_t interfaces_ = 0;      // written so far
    std::uint32_t first_interface_ = 0; // of this file
    std::vector<std::string> comments_; // of the current packet
};

} // namespace veriroce::dissect
