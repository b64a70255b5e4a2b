// What the requester checks before it sends or retries. The engine asks for each of them by name
// where the decision is due, not for the list in order.
#pragma once

#include "transport/engine/check_list.hpp"
#include "transport/engine/view.hpp"

namespace veriroce::engine {

enum class SendCheck : std::uint8_t {
    Window,
    RdAtomic,
    Fence,
    Credits,
    RetryLeft,
    RnrRetryLeft,
};

namespace send_check {
bool window(const SendView& view);
bool rd_atomic(const SendView& view);
bool fence(const SendView& view);
bool credits(const SendView& view);
bool retry_left(const SendView& view);
bool rnr_retry_left(const SendView& view);
} // namespace send_check

using SendRow = CheckRow<SendCheck, bool(const SendView&)>;

inline constexpr std::array kSendRows{
    SendRow{SendCheck::Window, "window", "REQ-02, N-36", send_check::window},
    SendRow{SendCheck::RdAtomic, "rd-atomic", "REQ-27", send_check::rd_atomic},
    SendRow{SendCheck::Fence, "fence", "REQ-28", send_check::fence},
    SendRow{SendCheck::Credits, "credits", "REQ-29", send_check::credits},
    SendRow{SendCheck::RetryLeft, "retry-left", "REQ-12, REQ-13, TMO-03", send_check::retry_left},
    SendRow{SendCheck::RnrRetryLeft, "rnr-retry-left", "RNR-09", send_check::rnr_retry_left},
};
static_assert(in_order(kSendRows));

constexpr const auto& rows_of(SendCheck /*list*/) {
    return kSendRows;
}

} // namespace veriroce::engine
