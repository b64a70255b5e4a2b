// How the two ends recover from each fault: when one of them noticed, when the lost work was
// acknowledged, how much was sent again, and how far goodput fell. It sees every packet as it comes
// and as it leaves.
//
// What counts as what:
//   detection  the first NAK for a PSN up to the fault's, or the first request of such a PSN that
//   is
//              sent again, comes in
//   recovery   for a request or an acknowledgement: an acknowledgement of its PSN or a later one
//              leaves undamaged. For a READ response or an atomic's: the response with this PSN
//              does
//   dip        1 - (PSNs acknowledged per second from the fault to its recovery) / (the same rate
//              before the fault, over at least kDipWindow as far as it is known)
//
// Actions that lose, delay or change a packet of an RC connection are followed; for the others
// (duplicate, mark, replay, forge, pause) there is nothing to recover from.
//
// Units: instants of the caller's time line. Bounds: kMaxEvents, kMaxOpen; what exceeds them is
// counted.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <vector>

#include "dissector/wire/syndrome.hpp"
#include "transport/fault/injector.hpp"
#include "transport/inject/connections.hpp"
#include "transport/inject/delivery.hpp"

namespace veriroce::inject {

inline constexpr std::size_t kMaxEvents = 100'000;
inline constexpr std::size_t kMaxOpen = 1'024; // faults of one connection that wait for recovery
inline constexpr wire::Duration kDipWindow = std::chrono::milliseconds(10);

enum class Sign : std::uint8_t { None, SequenceNak, OtherNak, Retransmission };
std::string_view name_of(Sign sign);

struct FaultEvent {
    std::size_t rule = 0; // index in the plan
    wire::Instant at;
    End from = End::A;
    Place place;
    std::int64_t pass = 0;
    std::int64_t message = 0;
    std::int64_t packet = 0;
    bool followed = false;
    Sign sign = Sign::None;
    std::optional<wire::Duration> detection;
    std::optional<wire::Duration> recovery;
    std::uint64_t retransmitted = 0; // requests sent again from the fault to its recovery
    std::optional<double> dip;       // 0 to 1; less than 0: faster than before
};

struct Counters {
    std::uint64_t packets = 0;
    std::uint64_t new_bytes = 0;       // payload of packets sent for the first time
    std::uint64_t retransmissions = 0; // requests
    std::uint64_t sequence_naks = 0;
    std::uint64_t rnr_naks = 0;
    std::uint64_t fatal_naks = 0;
    std::uint64_t faults = 0;
    Delivered delivered; // of RC
};

class Recovery {
  public:
    // A packet of connection `place.connection`, and what the plan did to it.
    void arrived(const Place& place, const wire::Frame& frame, const fault::Decision& decision,
                 std::span<const fault::Rule> rules, End from, wire::Instant now);
    // A packet leaves; its ICRC is good.
    void left(const Place& place, const wire::Frame& frame, wire::Instant now);

    [[nodiscard]] const std::vector<FaultEvent>& events() const { return events_; }
    [[nodiscard]] std::uint64_t events_not_kept() const { return not_kept_; }
    // By connection number - 1.
    [[nodiscard]] const std::vector<Counters>& counters() const { return counters_; }
    [[nodiscard]] Counters total() const;

  private:
    struct Sample {
        wire::Instant at;
        std::int64_t acknowledged = 0;
    };
    struct Waiting {
        std::size_t event = 0;
        std::int64_t acknowledged = 0; // by then
        bool data = false;             // needs the response with this PSN, not a later one
    };
    struct Stream { // the requests of one end
        std::int64_t acknowledged = -1;
        std::deque<Sample> samples; // at most kSamples, at least kSampleTime apart
        std::vector<Waiting> open;
        Delivery delivery;
    };
    static constexpr std::size_t kSamples = 512;
    static constexpr wire::Duration kSampleTime = std::chrono::milliseconds(1);

    Stream& stream_of(const Place& place);
    void add(const Place& place, const fault::Decision& decision,
             std::span<const fault::Rule> rules, End from, wire::Instant now);
    void noticed(Stream& stream, std::int64_t psn, Sign sign, wire::Instant now);
    void recovered(Stream& stream, const Waiting& waiting, wire::Instant now);

    std::vector<FaultEvent> events_;
    std::uint64_t not_kept_ = 0;
    std::vector<Counters> counters_;
    std::vector<std::array<Stream, 2>> streams_; // by connection number - 1, requester's port
};

} // namespace veriroce::inject
