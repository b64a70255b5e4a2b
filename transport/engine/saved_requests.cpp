#include "transport/engine/saved_requests.hpp"

#include <algorithm>

namespace veriroce::engine {

void SavedRequests::reset(std::size_t depth) {
    if (depth > requests_.size()) requests_.resize(depth);
    depth_ = depth;
    size_ = next_ = 0;
}

void SavedRequests::add(const SavedRequest& request) {
    if (depth_ == 0) return;
    requests_[next_] = request;
    next_ = (next_ + 1) % depth_;
    size_ = std::min(size_ + 1, depth_);
}

const SavedRequest* SavedRequests::holding(wire::Psn psn) const {
    for (std::size_t i = 0; i < size_; ++i) {
        if (forward(requests_[i].psn, psn) < requests_[i].packets) return &requests_[i];
    }
    return nullptr;
}

const SavedRequest* SavedRequests::newest() const {
    if (size_ == 0) return nullptr;
    return &requests_[(next_ + depth_ - 1) % depth_];
}

} // namespace veriroce::engine
