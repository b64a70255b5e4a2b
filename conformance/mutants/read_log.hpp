// The READ requests that reached a QP last. Inside the room only.
#pragma once

#include <algorithm>
#include <deque>

#include "conformance/mutants/packets.hpp"

namespace veriroce::mutants {

struct LoggedRead {
    wire::Packet request; // it has no body
    std::uint32_t packets = 1;
    bool answered = false; // its response has begun

    [[nodiscard]] bool holds(wire::Psn psn) const {
        const std::int32_t offset = wire::distance(request.bth.psn, psn);
        return offset >= 0 && static_cast<std::uint32_t>(offset) < packets;
    }
};

class ReadLog {
  public:
    // The READ in whose PSNs this one lies.
    [[nodiscard]] std::optional<LoggedRead> holding(wire::Psn psn) const {
        const auto found =
            std::ranges::find_if(reads_, [psn](const LoggedRead& read) { return read.holds(psn); });
        if (found == reads_.end()) return std::nullopt;
        return *found;
    }
    // Notes a READ request, unless it repeats a part of one that was answered.
    void note(const wire::Packet& request, wire::Mtu mtu) {
        const auto known = holding(request.bth.psn);
        if (known && known->answered) return;
        std::erase_if(reads_, [&](const LoggedRead& read) { return read.holds(request.bth.psn); });
        reads_.push_back(
            {.request = request, .packets = wire::packets_of(request.reth.dma_length, mtu)});
        reads_.back().request.body = {};
        if (reads_.size() > kept) reads_.pop_front();
    }
    // Notes a READ response.
    void answer(wire::Psn psn) {
        for (LoggedRead& read : reads_)
            read.answered |= read.holds(psn);
    }
    [[nodiscard]] const std::deque<LoggedRead>& reads() const { return reads_; }

  private:
    static constexpr std::size_t kept = 16; // as many as the engine remembers
    std::deque<LoggedRead> reads_;
};

} // namespace veriroce::mutants
