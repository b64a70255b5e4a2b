// One pcapng of both ports: what came in and what went out, with comments on what was done to which
// packet.
//
// Errors: one sentence, at the first failure; from then on nothing is written. Bounds: the file
// stops at kMaxCaptureBytes, which full() tells.
#pragma once

#include <expected>
#include <optional>
#include <string>
#include <vector>

#include "dissector/capture/pcapng_writer.hpp"
#include "transport/inject/observer.hpp"

namespace veriroce::inject {

inline constexpr std::uint64_t kMaxCaptureBytes = std::uint64_t{4} << 30;

class Recorder : public Observer {
  public:
    // `rules` outlives it. `realtime_offset`: what to add to the time line to get the time of day.
    static std::expected<Recorder, std::string> create(const std::string& path,
                                                       const std::string& a, const std::string& b,
                                                       std::span<const fault::Rule> rules,
                                                       wire::Duration realtime_offset);

    void came(End port, wire::Bytes frame, const Handled& handled, wire::Instant at) override;
    void went(End port, wire::Bytes frame, bool changed, wire::Instant at) override;
    std::expected<void, std::string> finish();
    [[nodiscard]] bool full() const { return full_; }

  private:
    Recorder(capture::PcapngWriter writer, std::string path, std::span<const fault::Rule> rules,
             wire::Duration realtime_offset)
        : writer_(std::move(writer)), path_(std::move(path)), rules_(rules),
          offset_(realtime_offset) {}
    void write(End port, wire::Bytes frame, capture::Direction direction, wire::Instant at);

    capture::PcapngWriter writer_;
    std::string path_;
    std::span<const fault::Rule> rules_;
    wire::Duration offset_;
    std::vector<std::string> comments_; // of the packet that is written
    std::optional<capture::WriteError> failed_;
    bool full_ = false;
};

} // namespace veriroce::inject
