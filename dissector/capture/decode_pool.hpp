// A queue of batches of packets that several threads decode: filled by the caller, decoded by
// whoever is free, the caller included, and given back in order. Before, each of several shares may
// see every batch in order, at the same time as the others. Internal to this room.
//
//   while (!pool.full()) fill(pool.free());
//   pool.submit(count);
//   const DecodeBatch& oldest = pool.oldest();   // decoded
//   pool.release();
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

#include "dissector/capture/record.hpp"
#include "dissector/decode/decoder.hpp"

namespace veriroce::capture {

// Where one batch is decoded to. A thread uses its own ones again, the last one first: memory that
// several threads write in turn costs more time than the decoding.
struct DecodeRoom {
    std::size_t place = 0; // its number
    std::size_t thread = 0;
    std::vector<decode::Dissection> frames;
};

struct DecodeBatch {
    // What decoding needs: little, because it comes from the cache of another thread.
    struct Packet {
        const std::byte* bytes = nullptr;
        std::int64_t time_ns = 0;
        std::uint32_t captured = 0; // bytes
        std::uint32_t original_length = 0;
        std::uint16_t link_code = 0;
        bool has_time = false;
        bool selected = true; // to be decoded
    };
    // What else is known, for the caller's thread.
    struct Source {
        Record record;
        std::uint32_t interfaces = 0; // described before it
    };
    std::size_t size = 0;
    std::uint64_t first_number = 0;
    std::vector<Packet> packets;
    std::vector<Source> sources;
    DecodeRoom* room = nullptr; // once it is decoded; guarded by the pool's mutex

    void decode(std::size_t index, const decode::Options& options, DecodeRoom& to) const;
};

class DecodePool {
  public:
    using Prepare = std::function<void(std::size_t place, std::span<const decode::Dissection>)>;
    using Observe = std::function<void(std::size_t share, std::size_t place,
                                       std::span<const decode::Dissection>)>;
    struct Work {
        Prepare prepare; // after a batch is decoded
        std::size_t shares = 0;
        Observe observe; // after that and after all batches before, for each share
    };
    // One batch: no threads but the caller's. Threads begin with the second batch that waits: a
    // small file needs none.
    DecodePool(const decode::Options& options, Work work, std::uint32_t threads,
               std::size_t batches, std::size_t batch_frames);
    DecodePool(const DecodePool&) = delete;
    DecodePool& operator=(const DecodePool&) = delete;
    ~DecodePool();

    // Whether the caller is the only thread: it decodes each packet when it has read it, while its
    // bytes are in the cache.
    [[nodiscard]] bool alone() const { return capacity() == 1; }
    // Its only batch, which has a room from the beginning and never goes through the queue.
    DecodeBatch& own_batch();
    // After the caller alone decoded the batch.
    void finish_alone(const DecodeBatch& batch) const;

    // Only the caller's thread uses these.
    [[nodiscard]] std::size_t under_way() const { return filled_ - released_; }
    [[nodiscard]] std::size_t capacity() const { return batches_.size(); }
    // The place for the next batch; not if as many are under way as there are places.
    DecodeBatch& free();
    // The batches filled since the last call, `count` of them, may be decoded.
    void submit(std::size_t count);
    // Waits until the oldest batch is decoded and all shares saw it, and helps meanwhile.
    DecodeBatch& oldest();
    // The oldest batch is used no longer.
    void release();

  private:
    struct Share {
        std::size_t seen = 0; // batches
        bool busy = false;
    };

    void prepare(const DecodeBatch& batch, const DecodeRoom& room) const;
    void observe(std::size_t share, const DecodeBatch& batch) const;
    void run(std::size_t thread);
    bool help(std::unique_lock<std::mutex>& lock, std::size_t thread);
    [[nodiscard]] bool any_work() const;
    [[nodiscard]] bool waits(std::size_t share) const;
    [[nodiscard]] bool done(std::size_t batch) const;
    void decode_next(std::unique_lock<std::mutex>& lock, std::size_t thread);
    void observe_next(std::unique_lock<std::mutex>& lock, std::size_t share);
    DecodeRoom& room_for(std::size_t thread);
    void make_places(DecodeBatch& batch) const;
    void start_threads();

    decode::Options options_;
    Work work_;
    std::uint32_t threads_wanted_; // beside the caller's
    std::size_t batch_frames_;
    std::vector<DecodeBatch> batches_; // a ring
    std::size_t filled_ = 0;           // of the caller's thread, as the next
    std::size_t released_ = 0;
    std::vector<std::thread> threads_;

    std::mutex mutex_; // guards the members below
    std::condition_variable more_;
    std::condition_variable done_;
    std::size_t submitted_ = 0;
    std::size_t taken_ = 0;
    std::size_t decoded_ = 0; // all before this one are
    std::vector<Share> shares_;
    std::size_t sleeping_ = 0;                         // threads that wait for work
    std::deque<DecodeRoom> rooms_;                     // at most as many as batches
    std::vector<std::vector<DecodeRoom*>> free_rooms_; // by thread; 0 is the caller's
    bool caller_waits_ = false;
    bool stop_ = false;
};

} // namespace veriroce::capture
