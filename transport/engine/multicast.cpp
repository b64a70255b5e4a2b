#include "transport/engine/multicast.hpp"

#include <algorithm>

namespace veriroce::engine {

bool is_multicast(const wire::IpAddress& address) {
    constexpr std::uint32_t v4_bits = 0xE;
    constexpr std::byte v6_first{0xFF};
    return address.v4() ? address.low32() >> 28 == v4_bits : address.bytes[0] == v6_first;
}

std::expected<void, VerbError> MulticastGroups::attach(const wire::IpAddress& group, QpId qp) {
    const Attachment wanted{.group = group, .qp = qp};
    if (std::ranges::find(attachments_, wanted) != attachments_.end()) return {};
    const auto of_group = std::ranges::count(attachments_, group, &Attachment::group);
    if (attachments_.size() == limit_ || of_group == qps_of_group_) {
        return std::unexpected(VerbError::NoMemory);
    }
    attachments_.push_back(wanted);
    return {};
}

std::expected<void, VerbError> MulticastGroups::detach(const wire::IpAddress& group, QpId qp) {
    const auto at = std::ranges::find(attachments_, Attachment{.group = group, .qp = qp});
    if (at == attachments_.end()) return std::unexpected(VerbError::InvalidArgument);
    attachments_.erase(at);
    return {};
}

bool MulticastGroups::has(QpId qp) const {
    return std::ranges::find(attachments_, qp, &Attachment::qp) != attachments_.end();
}

} // namespace veriroce::engine
