#include "dissector/capture/decode_pool.hpp"

#include <cassert>
#include <system_error>

#include "dissector/capture/facts.hpp"

namespace veriroce::capture {

void DecodeBatch::decode(std::size_t index, const decode::Options& options) {
    if (!packets[index].selected) return;
    tell(packets[index].record, first_number + index, frames[index].frame);
    decode::dissect_frame(options, frames[index]);
}

DecodePool::DecodePool(const decode::Options& options, Prepare prepare, std::uint32_t threads,
                       std::size_t batches, std::size_t batch_frames)
    : options_(options), prepare_(std::move(prepare)), threads_wanted_(threads - 1),
      batch_frames_(batch_frames), batches_(batches) {
    assert(threads > 0 && batches > 0);
}

DecodePool::~DecodePool() {
    {
        const std::lock_guard lock(mutex_);
        stop_ = true;
    }
    more_.notify_all();
    for (std::thread& thread : threads_)
        thread.join();
}

// Places are made when they are needed first.
DecodeBatch& DecodePool::free() {
    assert(under_way() < capacity());
    DecodeBatch& batch = batches_[filled_ % capacity()];
    if (batch.frames.empty()) {
        batch.packets.resize(batch_frames_);
        batch.frames.resize(batch_frames_);
    }
    batch.decoded = false; // nobody else knows of it yet
    ++filled_;
    return batch;
}

void DecodePool::submit(std::size_t count) {
    if (alone()) return;
    {
        const std::lock_guard lock(mutex_);
        submitted_ += count;
        assert(submitted_ == filled_);
    }
    if (threads_wanted_ == 0) return;
    if (threads_.empty() && under_way() > 1) start_threads();
    more_.notify_all();
}

void DecodePool::start_threads() {
    try {
        while (threads_.size() < threads_wanted_)
            threads_.emplace_back([this] { work(); });
    } catch (const std::system_error&) { // those that there are decode, or the caller alone
        threads_wanted_ = static_cast<std::uint32_t>(threads_.size());
    }
}

DecodeBatch& DecodePool::oldest() {
    DecodeBatch& batch = batches_[released_ % capacity()];
    if (alone()) return batch;
    std::unique_lock lock(mutex_);
    while (!batch.decoded) {
        if (taken_ < submitted_) {
            decode_next(lock);
        } else {
            caller_waits_ = true;
            done_.wait(lock);
            caller_waits_ = false;
        }
    }
    return batch;
}

void DecodePool::decode_next(std::unique_lock<std::mutex>& lock) {
    DecodeBatch& batch = batches_[taken_++ % capacity()];
    lock.unlock();
    for (std::size_t i = 0; i < batch.size; ++i)
        batch.decode(i, options_);
    prepare(batch);
    lock.lock();
    batch.decoded = true;
}

void DecodePool::work() {
    std::unique_lock lock(mutex_);
    for (;;) {
        more_.wait(lock, [this] { return stop_ || taken_ < submitted_; });
        if (stop_) return;
        decode_next(lock);
        if (caller_waits_) done_.notify_one();
    }
}

} // namespace veriroce::capture
