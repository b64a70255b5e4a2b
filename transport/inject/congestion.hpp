// Congestion that the bump plays: CE marks as by a switch's RED on a virtual queue, and storms of
// PFC frames that end by themselves, as a watchdog would end them.
//
//   const auto red = parse_red("from=a,rate=10Gbit,min=32KiB,max=256KiB,p=0.2");
//   VirtualQueue queue(*red, seed);
//   if (queue.marks(frame.size(), now)) ...   // every packet of that direction, in order
//
// The virtual queue delays nothing: it only computes how full a queue would be that drains at
// `rate`. Units: bytes, bit/s, instants of the caller's time line. Errors: what was expected.
#pragma once

#include <array>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>

#include "dissector/wire/instant.hpp"
#include "transport/fault/rule.hpp"

namespace veriroce::inject {

struct RedOptions {
    fault::End from = fault::End::A;
    double rate = 0;        // bit/s
    std::uint64_t min = 0;  // bytes: below, nothing is marked
    std::uint64_t max = 0;  // above, everything is
    double probability = 0; // at max; between, it rises in a line
};
std::expected<RedOptions, std::string> parse_red(std::string_view text);

struct StormOptions {
    fault::End to = fault::End::A;
    fault::Pause pause;
    wire::Duration every{0};
    wire::Duration after{0}; // since the first RoCEv2 packet
    wire::Duration lasts{0};
};
std::expected<StormOptions, std::string> parse_storm(std::string_view text);

class VirtualQueue {
  public:
    VirtualQueue(const RedOptions& options, std::uint64_t seed)
        : options_(options), random_(seed ^ (options.from == fault::End::A ? 0xA : 0xB)) {}

    // A packet of this size comes. Whether it is to be marked.
    bool marks(std::size_t bytes, wire::Instant now);
    [[nodiscard]] std::uint64_t longest() const { return static_cast<std::uint64_t>(longest_); }

  private:
    RedOptions options_;
    std::uint64_t random_;
    double bytes_ = 0;
    double longest_ = 0;
    std::optional<wire::Instant> last_;
};

} // namespace veriroce::inject
