// What `--stats` counts, and its one screen. Internal to this room.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "dissector/decode/dissection.hpp"
#include "dissector/flow/path.hpp"

namespace veriroce::dissect {

class Statistics {
  public:
    void add(const decode::Dissection& dissection);
    void append(std::string& out);

  private:
    struct alignas(64) Flow {
        flow::Path path;
        std::uint64_t packets = 0; // 0: a free place
        std::uint64_t bytes = 0;
    };
    // A hash table of flows, one cache line each, at most half full. With many flows each packet is
    // a cache miss: a packet waits while the line of its flow is fetched and others are looked at.
    class Flows {
      public:
        void add(const flow::Path& path, std::uint32_t bytes);
        // Those of the most packets, `count` at most; among equals the smaller path.
        std::vector<Flow> largest(std::size_t count);
        [[nodiscard]] std::size_t size() const { return used_; }

      private:
        struct Waiting {
            flow::Path path;
            std::uint64_t hash = 0;
            std::uint32_t bytes = 0;
        };
        static constexpr std::size_t kWaiting = 8;
        static constexpr std::size_t kFirstRoom = 64; // a power of two, as all that follow

        void count(const Waiting& packet);
        void settle();
        void grow();
        Flow& place(const flow::Path& path, std::uint64_t hash);

        std::vector<Flow> places_ = std::vector<Flow>(kFirstRoom);
        std::size_t used_ = 0;
        std::array<Waiting, kWaiting> waiting_;
        std::size_t waiting_count_ = 0;
    };

    void append_opcodes(std::string& out) const;
    void append_flows(std::string& out);

    std::uint64_t frames_ = 0;
    std::uint64_t bytes_ = 0;
    std::uint64_t roce_ = 0;  // RoCEv2
    std::uint64_t other_ = 0; // RoCE v1 and InfiniBand
    std::uint64_t payload_ = 0;
    std::uint64_t cut_ = 0;
    std::uint64_t malformed_ = 0;
    std::uint64_t with_findings_ = 0;
    std::array<std::uint64_t, 3> icrc_{}; // by IcrcStatus
    std::array<std::uint64_t, 256> opcodes_{};
    Flows flows_;
    std::optional<std::int64_t> first_ns_;
    std::optional<std::int64_t> last_ns_;
};

} // namespace veriroce::dissect
