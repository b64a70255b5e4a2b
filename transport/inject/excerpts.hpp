// The packets around faults, for the ladders of the report: of the fault's connection a few before
// it, those after it until the recovery, and a few more. Faults that follow closely share an
// excerpt.
//
// Bounds: kMaxExcerpts; of each packet the first kHeadBytes; of each excerpt what the constants
// say. What happens between is counted in Excerpt::skipped. A fault beyond them has none.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <unordered_map>
#include <vector>

#include "transport/inject/observer.hpp"

namespace veriroce::inject {

struct ExcerptPacket {
    static constexpr std::size_t kHeadBytes = 160;

    wire::Instant at;
    End from = End::A; // it goes away from there
    std::array<std::byte, kHeadBytes> head{};
    std::uint32_t length = 0; // of the frame
    std::int64_t psn = 0;     // relative
    std::int64_t pass = 0;    // 0: the bump sent it, later than it came or in addition
    std::vector<std::size_t> rules;
    bool lost = false;         // a rule took it away
    std::uint64_t skipped = 0; // packets of the connection before this one that are not kept

    [[nodiscard]] wire::Bytes bytes() const {
        return wire::Bytes(head).first(std::min<std::size_t>(length, kHeadBytes));
    }
};

struct Excerpt {
    std::uint64_t connection = 0;
    std::vector<std::size_t> events; // of Recovery::events()
    std::vector<ExcerptPacket> packets;
    bool whole = false; // it reaches beyond the recovery
};

class Excerpts : public Observer {
  public:
    static constexpr std::size_t kMaxExcerpts = 100;
    static constexpr std::size_t kBefore = 12;    // packets before the fault
    static constexpr std::size_t kFollowing = 48; // after it, whatever happens
    static constexpr std::size_t kLast = 16;      // the last ones before a later recovery
    static constexpr std::size_t kAfter = 8;      // after the recovery
    static constexpr std::size_t kMaxConnections = 256;

    // `bump` outlives it.
    explicit Excerpts(const Bump& bump) : bump_(bump) {}

    void came(End port, wire::Bytes frame, const Handled& handled, wire::Instant at) override;
    void went(End port, wire::Bytes frame, bool changed, wire::Instant at) override;
    // Closes those that still run.
    void finish();
    // In the order of their first faults.
    [[nodiscard]] const std::vector<Excerpt>& all() const { return all_; }

  private:
    struct Open {
        std::size_t index = 0; // in all_
        std::size_t following = 0;
        std::deque<ExcerptPacket> last; // beyond kFollowing
        std::uint64_t skipped = 0;
        std::optional<std::size_t> after; // packets since the recovery
    };
    struct History { // of one connection
        std::deque<ExcerptPacket> before;
        std::optional<Open> open;
    };

    void add(History& history, ExcerptPacket packet);
    void begin(History& history, const Handled& handled);
    void close(Open& open);
    [[nodiscard]] bool recovered(const Open& open) const;

    const Bump& bump_;
    std::unordered_map<std::uint64_t, History> histories_; // by connection
    std::vector<Excerpt> all_;
    std::size_t events_seen_ = 0;
    std::size_t open_ = 0;
    wire::Instant came_at_;
    bool own_to_come_ = false; // the packet that came last leaves changed, at once
};

} // namespace veriroce::inject
