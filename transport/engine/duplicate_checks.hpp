// The responder's checks of a duplicate READ, atomic, FLUSH or ATOMIC WRITE. A duplicate READ,
// which is executed again, must then pass the key checks of request_checks.hpp as well. A duplicate
// is never NAKed, even if it is wrong (RSP-12).
#pragma once

#include "transport/engine/check_list.hpp"
#include "transport/engine/view.hpp"

namespace veriroce::engine {

enum class DuplicateCheck : std::uint8_t {
    Remembered,
    WithinRead,
    SameAtomic,
};

namespace duplicate_check {
bool remembered(const RequestView& view);
bool within_read(const RequestView& view);
bool same_atomic(const RequestView& view);
} // namespace duplicate_check

using DuplicateRow = CheckRow<DuplicateCheck, bool(const RequestView&)>;

inline constexpr std::array kDuplicateRows{
    DuplicateRow{DuplicateCheck::Remembered, "remembered", "RDR-08, ATM-06",
                 duplicate_check::remembered},
    DuplicateRow{DuplicateCheck::WithinRead, "within-read", "RDR-05, RDR-07",
                 duplicate_check::within_read},
    DuplicateRow{DuplicateCheck::SameAtomic, "same-atomic", "ATM-05, EXT-04",
                 duplicate_check::same_atomic},
};
static_assert(in_order(kDuplicateRows));

constexpr const auto& rows_of(DuplicateCheck /*list*/) {
    return kDuplicateRows;
}

} // namespace veriroce::engine
