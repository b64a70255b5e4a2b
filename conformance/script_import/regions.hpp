// The memory that requests name by address and R_Key, as regions of a script.
//
// Accesses that lie near each other are one region; its base is the page of the first one, so that
// every offset keeps its alignment. A region is named by a letter, and the tester's region with
// what is written into it by a `t` before that letter. Internal to this room.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "conformance/script_import/conversation.hpp"

namespace veriroce::script_import {

inline constexpr std::uint64_t kNearBytes = 64ULL << 10;
inline constexpr std::uint64_t kLargestRegion = 16ULL << 20;
inline constexpr std::size_t kMostRegions = 18;

struct Access {
    std::uint64_t address = 0;
    std::uint64_t bytes = 0;
    wire::Operation operation = wire::Operation::RdmaWrite;
};

// What a request accesses at the end that answers; nothing if it names no memory.
std::optional<Access> access_of(const Event& event);

struct Region {
    std::string name;
    std::uint64_t base = 0;
    std::uint64_t bytes = 0;
    bool read = false;
    bool written = false;
    bool atomic = false;
    bool atomic_written = false;
    bool flushed = false;

    [[nodiscard]] std::string tester_name() const { return "t" + name; }
    // "remote_write,remote_read"
    [[nodiscard]] std::string rights() const;
};

struct Place {
    const Region* region = nullptr;
    std::uint64_t offset = 0;
};

class Regions {
  public:
    // Accesses that no region can hold are left without a place.
    explicit Regions(std::vector<Access> accesses);

    [[nodiscard]] std::optional<Place> place(std::uint64_t address, std::uint64_t bytes) const;
    [[nodiscard]] const std::vector<Region>& all() const { return regions_; }
    [[nodiscard]] bool any_atomic() const;

  private:
    std::vector<Region> regions_;
};

} // namespace veriroce::script_import
