#include "dissector/capture/decode_pool.hpp"

#include <algorithm>
#include <cassert>
#include <system_error>
#include <utility>

namespace veriroce::capture {

void DecodeBatch::decode(std::size_t index, const decode::Options& options, DecodeRoom& to) const {
    const Packet& packet = packets[index];
    if (!packet.selected) return;
    decode::FrameFacts& frame = to.frames[index].frame;
    frame.bytes = {packet.bytes, packet.captured};
    frame.original_length = packet.original_length;
    frame.link_code = packet.link_code;
    frame.number = first_number + index;
    frame.time_ns.reset();
    if (packet.has_time) frame.time_ns = packet.time_ns;
    decode::dissect_frame(options, to.frames[index]);
}

DecodePool::DecodePool(const decode::Options& options, Prepare prepare, std::uint32_t threads,
                       std::size_t batches, std::size_t batch_frames)
    : options_(options), prepare_(std::move(prepare)), threads_wanted_(threads - 1),
      batch_frames_(batch_frames), batches_(batches), free_rooms_(threads) {
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

void DecodePool::prepare(const DecodeBatch& batch, const DecodeRoom& room) const {
    if (prepare_) prepare_(room.place, std::span(room.frames).first(batch.size));
}

// There is one: fewer batches are being decoded or used than there may be rooms.
DecodeRoom& DecodePool::room_for(std::size_t thread) {
    auto* from = &free_rooms_[thread];
    if (from->empty() && rooms_.size() < capacity()) {
        return rooms_.emplace_back(DecodeRoom{rooms_.size(), thread, {}});
    }
    if (from->empty()) {
        from =
            &*std::ranges::find_if(free_rooms_, [](const auto& rooms) { return !rooms.empty(); });
    }
    DecodeRoom& room = *from->back();
    from->pop_back();
    room.thread = thread;
    return room;
}

// Memory is taken when it is needed first.
DecodeBatch& DecodePool::free() {
    assert(under_way() < capacity());
    DecodeBatch& batch = batches_[filled_ % capacity()];
    if (batch.packets.empty()) {
        batch.packets.resize(batch_frames_);
        batch.sources.resize(batch_frames_);
    }
    ++filled_;
    if (alone()) {
        batch.room = &room_for(0);
        batch.room->frames.resize(batch_frames_);
    }
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
            threads_.emplace_back([this, thread = threads_.size() + 1] { work(thread); });
    } catch (const std::system_error&) { // those that there are decode, or the caller alone
        threads_wanted_ = static_cast<std::uint32_t>(threads_.size());
    }
}

DecodeBatch& DecodePool::oldest() {
    DecodeBatch& batch = batches_[released_ % capacity()];
    if (alone()) return batch;
    std::unique_lock lock(mutex_);
    while (batch.room == nullptr) {
        if (taken_ < submitted_) {
            decode_next(lock, 0);
        } else {
            caller_waits_ = true;
            done_.wait(lock);
            caller_waits_ = false;
        }
    }
    return batch;
}

void DecodePool::release() {
    std::unique_lock lock(mutex_, std::defer_lock);
    if (!alone()) lock.lock();
    DecodeRoom* const room = std::exchange(batches_[released_ % capacity()].room, nullptr);
    free_rooms_[room->thread].push_back(room);
    ++released_;
}

void DecodePool::decode_next(std::unique_lock<std::mutex>& lock, std::size_t thread) {
    DecodeBatch& batch = batches_[taken_++ % capacity()];
    DecodeRoom& room = room_for(thread);
    lock.unlock();
    room.frames.resize(batch_frames_);
    for (std::size_t i = 0; i < batch.size; ++i)
        batch.decode(i, options_, room);
    prepare(batch, room);
    lock.lock();
    batch.room = &room;
}

void DecodePool::work(std::size_t thread) {
    std::unique_lock lock(mutex_);
    for (;;) {
        more_.wait(lock, [this] { return stop_ || taken_ < submitted_; });
        if (stop_) return;
        decode_next(lock, thread);
        if (caller_waits_) done_.notify_one();
    }
}

} // namespace veriroce::capture
