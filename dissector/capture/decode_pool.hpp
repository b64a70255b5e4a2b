// A queue of batches of packets that several threads decode: filled by the caller, decoded by
// whoever is free, the caller included, and given back in order. Internal to this room.
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
    // One batch: no threads but the caller's. Threads begin with the second batch that waits: a
    // small file needs none.
    DecodePool(const decode::Options& options, Prepare prepare, std::uint32_t threads,
               std::size_t batches, std::size_t batch_frames);
    DecodePool(const DecodePool&) = delete;
    DecodePool& operator=(const DecodePool&) = delete;
    ~DecodePool();

    // Whether the caller is the only thread: it decodes each packet when it has read it, while its
    // bytes are in the cache. Its batch has a room from the beginning.
    [[nodiscard]] bool alone() const { return capacity() == 1; }
    // After the batch is decoded.
    void prepare(const DecodeBatch& batch, const DecodeRoom& room) const;

    // Only the caller's thread uses these.
    [[nodiscard]] std::size_t under_way() const { return filled_ - released_; }
    [[nodiscard]] std::size_t capacity() const { return batches_.size(); }
    // The place for the next batch; not if as many are under way as there are places.
    DecodeBatch& free();
    // The batches filled since the last call, `count` of them, may be decoded.
    void submit(std::size_t count);
    // Waits until the oldest batch is decoded, and decodes meanwhile.
    DecodeBatch& oldest();
    // The oldest batch is used no longer.
    void release();

  private:
    void work(std::size_t thread);
    void decode_next(std::unique_lock<std::mutex>& lock, std::size_t thread);
    DecodeRoom& room_for(std::size_t thread);
    void start_threads();

    decode::Options options_;
    Prepare prepare_;
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
    std::deque<DecodeRoom> rooms_;                     // at most as many as batches
    std::vector<std::vector<DecodeRoom*>> free_rooms_; // by thread; 0 is the caller's
    bool caller_waits_ = false;
    bool stop_ = false;
};

} // namespace veriroce::capture
