#include "transport/engine/work_queues.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "transport/engine/scatter.hpp"

namespace veriroce::engine {

namespace {

std::span<const Sge> keep(std::span<const Sge> sges, std::vector<Sge>& store, std::size_t slot,
                          std::uint32_t max_sge) {
    const std::span<Sge> mine = std::span(store).subspan(slot * max_sge, max_sge);
    assert(sges.size() <= mine.size());
    std::ranges::copy(sges, mine.begin());
    return mine.first(sges.size());
}

} // namespace

SendQueue::SendQueue(const QpCapacity& capacity)
    : works_(capacity.max_send), max_sge_(capacity.max_sge), max_inline_(capacity.max_inline),
      sges_(std::size_t{capacity.max_send} * capacity.max_sge),
      inline_(std::size_t{capacity.max_send} * capacity.max_inline) {}

SendWork& SendQueue::push(const SendRequest& request, wire::Bytes inline_bytes) {
    SendWork& work = works_.push();
    const std::size_t slot = works_.place(works_.size() - 1);
    work = {.request = request};
    if (request.flags.inline_data) {
        const auto mine = std::span(inline_).subspan(slot * max_inline_, max_inline_);
        assert(inline_bytes.size() <= mine.size());
        if (!inline_bytes.empty())
            std::memcpy(mine.data(), inline_bytes.data(), inline_bytes.size());
        work.inline_bytes = mine.first(inline_bytes.size());
        work.request.sges = {};
        work.length = inline_bytes.size();
    } else {
        work.request.sges = keep(request.sges, sges_, slot, max_sge_);
        work.length = bytes_of(work.request.sges);
    }
    return work;
}

ReceiveQueue::ReceiveQueue(const QpCapacity& capacity)
    : works_(capacity.max_recv), max_sge_(capacity.max_sge),
      sges_(std::size_t{capacity.max_recv} * capacity.max_sge) {}

void ReceiveQueue::push(const ReceiveRequest& request) {
    ReceiveWork& work = works_.push();
    const auto sges = keep(request.sges, sges_, works_.place(works_.size() - 1), max_sge_);
    work = {.id = request.id, .sges = sges, .bytes = bytes_of(sges)};
}

SharedReceiveQueue::SharedReceiveQueue(SrqId srq, const SrqDescription& description,
                                       SharedReceive order)
    : id(srq), pd(description.pd), max_sge(description.max_sge), depth(description.depth),
      limit(description.limit), slots_(depth), sges_(std::size_t{depth} * max_sge), posted_(depth),
      free_(depth), order_(order) {
    std::iota(free_.rbegin(), free_.rend(), 0U);
}

void SharedReceiveQueue::push(const ReceiveRequest& request) {
    const std::uint32_t slot = free_.back();
    free_.pop_back();
    const std::span<Sge> mine =
        std::span(sges_).subspan(std::size_t{slot} * max_sge, request.sges.size());
    std::ranges::copy(request.sges, mine.begin());
    slots_[slot] = {.id = request.id, .sges = mine, .bytes = bytes_of(mine), .slot = slot};
    if (order_ == SharedReceive::Newest) {
        posted_.insert(0, slot);
    } else {
        posted_.push(slot);
    }
}

} // namespace veriroce::engine
