// The requester's checks of a response, in the order in which the engine calls them until one does
// not take it.
#pragma once

#include "transport/engine/check_list.hpp"
#include "transport/engine/view.hpp"

namespace veriroce::engine {

enum class ResponseVerdict : std::uint8_t {
    Take,
    Drop,
    Retry,       // an implied NAK: ask again for the oldest unanswered READ or atomic
    LengthError, // LOC_LEN_ERR
    BadResponse, // BAD_RESP_ERR
};

enum class ResponseCheck : std::uint8_t {
    State,
    Shape,
    KnownSyndrome,
    Window,
    ImpliedNak,
    FitsRequest,
    ReadOrder,
    ReadPosition,
    ReadLength,
};

namespace response_check {
ResponseVerdict state(const ResponseView& view);
ResponseVerdict shape(const ResponseView& view);
ResponseVerdict known_syndrome(const ResponseView& view);
ResponseVerdict window(const ResponseView& view);
ResponseVerdict implied_nak(const ResponseView& view);
ResponseVerdict fits_request(const ResponseView& view);
ResponseVerdict read_order(const ResponseView& view);
ResponseVerdict read_position(const ResponseView& view);
ResponseVerdict read_length(const ResponseView& view);
} // namespace response_check

using ResponseRow = CheckRow<ResponseCheck, ResponseVerdict(const ResponseView&)>;

inline constexpr std::array kResponseRows{
    ResponseRow{ResponseCheck::State, "state", "STA-07, STA-05", response_check::state},
    ResponseRow{ResponseCheck::Shape, "shape", "N-19", response_check::shape},
    ResponseRow{ResponseCheck::KnownSyndrome, "known-syndrome", "REQ-17",
                response_check::known_syndrome},
    ResponseRow{ResponseCheck::Window, "window", "REQ-06, REQ-07, REQ-18, N-38",
                response_check::window},
    ResponseRow{ResponseCheck::ImpliedNak, "implied-nak", "REQ-08, N-11",
                response_check::implied_nak},
    ResponseRow{ResponseCheck::FitsRequest, "fits-request", "REQ-20, REQ-24, REQ-25",
                response_check::fits_request},
    ResponseRow{ResponseCheck::ReadOrder, "read-order", "REQ-09", response_check::read_order},
    ResponseRow{ResponseCheck::ReadPosition, "read-position", "REQ-23",
                response_check::read_position},
    ResponseRow{ResponseCheck::ReadLength, "read-length", "REQ-21, REQ-22",
                response_check::read_length},
};
static_assert(in_order(kResponseRows));

constexpr const auto& rows_of(ResponseCheck /*list*/) {
    return kResponseRows;
}

} // namespace veriroce::engine
