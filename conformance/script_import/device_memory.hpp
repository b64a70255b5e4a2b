// The memory of a device that is asked: its regions, what requests write into them and must find
// there, as lines of the script. Internal to this room.
// Source: rules RSP-01, ATM-01, EXT-01, KEY-11.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "conformance/script_import/draft.hpp"
#include "conformance/script_import/regions.hpp"

namespace veriroce::script_import {

inline constexpr std::size_t kMostWindows = 64;

class DeviceMemory {
  public:
    DeviceMemory(const Exchange& exchange, Draft& draft);

    // The device's regions, and room for the tester's.
    void make();

    // Nothing if the request names no memory, or none that a region holds.
    [[nodiscard]] std::optional<Place> place_of(const Event& event) const;
    [[nodiscard]] std::optional<Place> place(std::uint64_t address, std::uint64_t bytes) const {
        return regions_.place(address, bytes);
    }
    // " data=ta[64 +256]" of a packet of a WRITE; empty if it does not belong to one that was seen
    // from its beginning.
    [[nodiscard]] std::string source_of(std::int64_t psn, std::uint32_t bytes);
    // What stood where this atomic was carried out; nothing if that is not known.
    [[nodiscard]] std::optional<std::uint64_t> original(std::int64_t psn) const;

    // A request is taken. True if it changes memory.
    bool take(std::int64_t psn, const Event& event);
    // " ikey=w2": the window that the SEND with this PSN invalidates; empty if there is none.
    [[nodiscard]] std::string window_of(std::int64_t psn) const;
    // What was written up to this PSN, and acknowledged, stands in the device's memory.
    void expect_writes(std::int64_t covered);

  private:
    struct WriteMessage {
        Place place;
        std::uint32_t packets = 1;
    };
    struct AtomicWritten {
        std::vector<std::byte> bytes;
        std::int64_t psn = 0;
    };
    struct Written {
        Place at;
        std::uint64_t bytes = 0;
        std::int64_t psn = 0;
    };

    void make_windows();
    void expect_atomic_writes(const Region& region, std::int64_t covered);
    // Where in memory the packet with this PSN of a WRITE begins to write.
    [[nodiscard]] std::optional<Place> write_at(std::int64_t psn) const;
    void exchange_value(std::int64_t psn, const Event& event);

    const Exchange& exchange_;
    Draft& draft_;
    Regions regions_;
    std::map<const Region*, std::size_t> tester_memory_; // room for the line of what is written
    std::map<std::int64_t, WriteMessage> writes_;
    std::vector<Written> written_;
    std::map<std::pair<const Region*, std::uint64_t>, std::vector<AtomicWritten>> atomic_written_;
    std::map<std::int64_t, std::size_t> windows_; // by PSN: their numbers
    std::map<std::pair<const Region*, std::uint64_t>, std::uint64_t> values_;
    std::map<std::int64_t, std::uint64_t> originals_; // by PSN
};

} // namespace veriroce::script_import
