// A queue of batches of packets that several threads decode: filled by the caller, decoded by
// whoever is free, the caller included, and given back in order. Internal to this room.
//
//   while (!pool.full()) { fill(pool.free()); pool.submit(); }
//   const DecodeBatch& oldest = pool.oldest();   // decoded
//   pool.release();
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

#include "dissector/capture/record.hpp"
#include "dissector/decode/decoder.hpp"

namespace veriroce::capture {

struct DecodeBatch {
    struct Read {
        Record record;
        std::uint32_t interfaces = 0; // described before it
        bool selected = true;         // to be decoded
    };
    void decode(std::size_t index, const decode::Options& options);

    std::size_t size = 0;
    std::uint64_t first_number = 0;
    std::vector<Read> packets;
    std::vector<decode::Dissection> frames;
    bool decoded = false; // guarded by the pool's mutex
};

class DecodePool {
  public:
    // One batch: no threads but the caller's. Threads begin with the second batch that waits: a
    // small file needs none.
    using Prepare = std::function<void(std::size_t place, std::span<const decode::Dissection>)>;
    DecodePool(const decode::Options& options, Prepare prepare, std::uint32_t threads,
               std::size_t batches, std::size_t batch_frames);
    DecodePool(const DecodePool&) = delete;
    DecodePool& operator=(const DecodePool&) = delete;
    ~DecodePool();

    // Whether the caller is the only thread: it decodes each packet when it has read it, while its
    // bytes are in the cache.
    [[nodiscard]] bool alone() const { return capacity() == 1; }
    [[nodiscard]] std::size_t place_of(const DecodeBatch& batch) const {
        return static_cast<std::size_t>(&batch - batches_.data());
    }
    // After the batch is decoded.
    void prepare(const DecodeBatch& batch) const {
        if (prepare_) prepare_(place_of(batch), std::span(batch.frames).first(batch.size));
    }
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
    void release() { ++released_; }

  private:
    void work();
    void decode_next(std::unique_lock<std::mutex>& lock);
    void start_threads();

    decode::Options options_;
    Prepare prepare_;
    std::uint32_t threads_wanted_; // beside the caller's
    std::size_t batch_frames_;
    std::vector<DecodeBatch> batches_; // a ring
    std::size_t filled_ = 0;           // of the caller's thread
    std::size_t released_ = 0;         // likewise

    std::mutex mutex_; // guards the members below
    std::condition_variable more_;
    std::condition_variable done_;
    std::size_t submitted_ = 0;
    std::size_t taken_ = 0;
    bool caller_waits_ = false;
    bool stop_ = false;
    std::vector<std::thread> threads_; // of the caller's thread
};

} // namespace veriroce::capture
