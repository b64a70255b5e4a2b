// The READs, atomics, FLUSHes and ATOMIC WRITEs that the responder executed last, as many as
// max_dest_rd_atomic, so that it can answer their duplicates (RDR-08, ATM-06).
#pragma once

#include <vector>

#include "transport/engine/view.hpp"

namespace veriroce::engine {

class SavedRequests {
  public:
    // Forgets all, and keeps this many from now on.
    void reset(std::size_t depth);
    void add(const SavedRequest& request);
    // The request that this PSN belongs to; nullptr if there is none.
    [[nodiscard]] const SavedRequest* holding(wire::Psn psn) const;
    [[nodiscard]] const SavedRequest* newest() const;
    // Calls `use` for each request after this PSN, in order.
    template <typename Use>
    void for_each_behind(wire::Psn psn, Use use) const {
        for (std::size_t i = 0; i < size_; ++i) {
            const SavedRequest& one = requests_[(next_ + depth_ - size_ + i) % depth_];
            if (wire::distance(psn, one.psn) > 0) use(one);
        }
    }

  private:
    std::vector<SavedRequest> requests_;
    std::size_t depth_ = 0;
    std::size_t size_ = 0;
    std::size_t next_ = 0;
};

} // namespace veriroce::engine
