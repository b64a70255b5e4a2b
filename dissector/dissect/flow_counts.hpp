// Counts packets and bytes per flow for `--stats`. A flow is the packets from one address to one QP
// at another address. Internal to this room.
//
// A flow takes 32 bytes: the two addresses are stored as one number, because there are far fewer
// address pairs than QPs. With many flows each packet is a cache miss, so packets wait in a small
// queue while their flow's cache line is prefetched. Memory is bounded: packets of flows beyond
// kMaxFlows are only counted.
#pragma once

#include <array>
#include <new>
#include <vector>

#include <sys/mman.h>

#include "dissector/decode/dissection.hpp"
#include "dissector/flow/path.hpp"
#include "dissector/flow/table.hpp"

namespace veriroce::dissect {

// What is counted of a packet: it can be taken from the packet ahead, on any thread.
struct FlowPacket {
    FlowPacket() = default;
    // The packet has an IP header or GRH, and a BTH. Construct it in its place: it is stored in
    // small pieces, and a processor would wait for them before it copies large ones.
    explicit FlowPacket(const decode::Dissection& dissection);

    // Both addresses as in the header, padded with zeros.
    using Words = std::array<std::uint64_t, 4>;
    Words addresses{};
    decode::LayerKind header = decode::LayerKind::Frame;
    std::uint32_t qpn = 0;
    std::uint32_t packets = 1; // of the flow, counted together
    std::uint64_t bytes = 0;
};
// Whether both are packets of one flow.
bool same_flow(const decode::Dissection& one, const decode::Dissection& other);

// Numbers address pairs in the order in which they appear.
class AddressPairs {
  public:
    struct Pair {
        wire::IpAddress source;
        wire::IpAddress destination;
        friend bool operator==(const Pair&, const Pair&) = default;
        [[nodiscard]] std::uint64_t hash() const { return flow::Path{source, destination}.hash(); }
    };

    // Empty if the table of pairs is full.
    std::optional<std::uint32_t> number_of(const FlowPacket& packet);
    [[nodiscard]] const Pair& operator[](std::uint32_t number) const { return pairs_[number]; }

  private:
    struct Recent {
        FlowPacket::Words words{};
        decode::LayerKind header = decode::LayerKind::Frame; // not set yet
        std::uint32_t number = 0;
    };
    static constexpr std::size_t kRecent = 256; // a power of two
    static constexpr std::size_t kMaxPairs = std::size_t{1} << 17;

    std::optional<std::uint32_t> number_of(const Pair& pair);

    std::array<Recent, kRecent> recent_;
    flow::Table<Pair> numbers_;
    std::vector<Pair> pairs_;
};

// Allocates large blocks in 2 MiB pages if the system has them: with small pages, each random
// access costs a page-table walk.
template <typename T>
struct LargePages {
    using value_type = T;
    static constexpr std::size_t kPage = std::size_t{2} << 20;

    LargePages() = default;
    template <typename Other>
    LargePages(const LargePages<Other>&) {} // NOLINT: an allocator is made of another one
    T* allocate(std::size_t count) {
        const std::size_t bytes = count * sizeof(T);
        void* memory = ::operator new(bytes, std::align_val_t{kPage});
        if (bytes >= kPage)
            ::madvise(memory, bytes, MADV_HUGEPAGE); // an optimisation only: may fail
        return static_cast<T*>(memory);
    }
    void deallocate(T* memory, std::size_t) { ::operator delete(memory, std::align_val_t{kPage}); }
    friend bool operator==(const LargePages&, const LargePages&) { return true; }
};

class FlowCounts {
  public:
    struct Flow {
        flow::Path path;
        std::uint64_t packets = 0;
        std::uint64_t bytes = 0;
    };

    void add(const FlowPacket& packet);
    // The up to `count` flows with the most packets; ties are ordered by path.
    std::vector<Flow> largest(std::size_t count);
    [[nodiscard]] std::size_t size() const { return used_; }
    // Packets of flows beyond the limit.
    [[nodiscard]] std::uint64_t beyond() const { return beyond_; }

  private:
    struct alignas(32) Place {     // of a hash table that is at most half full
        std::uint64_t key = 0;     // number of the address pair, QP
        std::uint64_t packets = 0; // 0: the slot is free
        std::uint64_t bytes = 0;
    };
    struct Waiting {
        std::uint64_t key = 0;
        std::uint64_t hash = 0;
        std::uint64_t bytes = 0;
        std::uint64_t packets = 0;
    };
    static constexpr std::size_t kWaiting = 16;
    static constexpr std::size_t kFirstRoom = 64; // a power of two, as are all larger sizes
    static constexpr std::size_t kMaxFlows = std::size_t{1} << 18;

    void settle();
    void count(const Waiting& packet);
    void grow();
    Place& place(std::uint64_t key, std::uint64_t hash);
    [[nodiscard]] flow::Path path_of(const Place& place) const;

    AddressPairs pairs_;
    using Places = std::vector<Place, LargePages<Place>>;
    Places places_ = Places(kFirstRoom);
    std::size_t used_ = 0;
    std::uint64_t beyond_ = 0;
    std::array<Waiting, kWaiting> waiting_;
    std::size_t waiting_count_ = 0;
};

} // namespace veriroce::dissect
