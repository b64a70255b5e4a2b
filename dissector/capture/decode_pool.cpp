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

DecodePool::DecodePool(const decode::Options& options, Work work, std::uint32_t threads,
                       std::size_t batches, std::size_t batch_frames)
    : options_(options), work_(std::move(work)), threads_wanted_(threads - 1),
      batch_frames_(batch_frames), batches_(batches), shares_(work_.shares), free_rooms_(threads) {
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
    if (work_.prepare) work_.prepare(room.place, std::span(room.frames).first(batch.size));
}

void DecodePool::observe(std::size_t share, const DecodeBatch& batch) const {
    work_.observe(share, batch.room->place, std::span(batch.room->frames).first(batch.size));
}

void DecodePool::finish_alone(const DecodeBatch& batch) const {
    prepare(batch, *batch.room);
    for (std::size_t share = 0; share < shares_.size(); ++share)
        observe(share, batch);
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
void DecodePool::make_places(DecodeBatch& batch) const {
    if (!batch.packets.empty()) return;
    batch.packets.resize(batch_frames_);
    batch.sources.resize(batch_frames_);
}

DecodeBatch& DecodePool::own_batch() {
    assert(alone());
    DecodeBatch& batch = batches_.front();
    if (batch.room == nullptr) {
        make_places(batch);
        batch.room = &room_for(0);
        batch.room->frames.resize(batch_frames_);
    }
    return batch;
}

DecodeBatch& DecodePool::free() {
    assert(under_way() < capacity());
    DecodeBatch& batch = batches_[filled_++ % capacity()];
    make_places(batch);
    return batch;
}

void DecodePool::submit(std::size_t count) {
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
            threads_.emplace_back([this, thread = threads_.size() + 1] { run(thread); });
    } catch (const std::system_error&) { // those that there are decode, or the caller alone
        threads_wanted_ = static_cast<std::uint32_t>(threads_.size());
    }
}

bool DecodePool::done(std::size_t batch) const {
    return batch < decoded_ &&
           std::ranges::all_of(shares_, [batch](const Share& share) { return share.seen > batch; });
}

DecodeBatch& DecodePool::oldest() {
    DecodeBatch& batch = batches_[released_ % capacity()];
    std::unique_lock lock(mutex_);
    while (!done(released_)) {
        if (help(lock, 0)) continue;
        caller_waits_ = true;
        done_.wait(lock);
        caller_waits_ = false;
    }
    return batch;
}

void DecodePool::release() {
    const std::lock_guard lock(mutex_);
    DecodeRoom* const room = std::exchange(batches_[released_ % capacity()].room, nullptr);
    free_rooms_[room->thread].push_back(room);
    ++released_;
}

bool DecodePool::waits(std::size_t share) const {
    return !shares_[share].busy && shares_[share].seen < decoded_;
}

bool DecodePool::any_work() const {
    if (taken_ < submitted_) return true;
    for (std::size_t share = 0; share < shares_.size(); ++share) {
        if (waits(share)) return true;
    }
    return false;
}

// The thread's own share first, whose connections are in its cache; another one's only if there is
// nothing else to do. False if there is nothing.
bool DecodePool::help(std::unique_lock<std::mutex>& lock, std::size_t thread) {
    if (thread < shares_.size() && waits(thread)) {
        observe_next(lock, thread);
    } else if (taken_ < submitted_) {
        decode_next(lock, thread);
    } else {
        std::size_t share = 0;
        while (share < shares_.size() && !waits(share))
            ++share;
        if (share == shares_.size()) return false;
        observe_next(lock, share);
    }
    // What was decoded is work for the shares.
    if (sleeping_ > 0 && !shares_.empty() && any_work()) more_.notify_one();
    return true;
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
    while (decoded_ < taken_ && batches_[decoded_ % capacity()].room != nullptr)
        ++decoded_;
}

void DecodePool::observe_next(std::unique_lock<std::mutex>& lock, std::size_t share) {
    Share& own = shares_[share];
    const std::size_t end = decoded_;
    own.busy = true;
    lock.unlock();
    for (std::size_t batch = own.seen; batch < end; ++batch)
        observe(share, batches_[batch % capacity()]);
    lock.lock();
    own.seen = end;
    own.busy = false;
}

void DecodePool::run(std::size_t thread) {
    std::unique_lock lock(mutex_);
    while (!stop_) {
        if (!help(lock, thread)) {
            ++sleeping_;
            more_.wait(lock);
            --sleeping_;
            continue;
        }
        if (caller_waits_) done_.notify_one();
    }
}

} // namespace veriroce::capture
