// Multicast: which UD QPs hear which groups. A group is the IP address that its GID is in RoCEv2
// (IPv4 mapped or IPv6); its datagrams go to QP 0xFFFFFF, and each QP that is attached gets one
// copy and judges it by its own P_Key and Q_Key.
//
// Source: rules BTH-04, EXT-05; ibv_attach_mcast, ibv_detach_mcast.
#pragma once

#include <expected>
#include <vector>

#include "transport/engine/verbs.hpp"

namespace veriroce::engine {

inline constexpr wire::Qpn kMulticastQpn{0xFFFFFF};

// 224.0.0.0/4, ff00::/8.
bool is_multicast(const wire::IpAddress& address);

class MulticastGroups {
  public:
    // Limits: attachments in all, and QPs of one group.
    MulticastGroups(std::uint32_t attachments, std::uint32_t qps_of_group)
        : limit_(attachments), qps_of_group_(qps_of_group) {}

    // A QP that is attached already stays so, once. NoMemory at either limit.
    std::expected<void, VerbError> attach(const wire::IpAddress& group, QpId qp);
    // InvalidArgument if it is not attached.
    std::expected<void, VerbError> detach(const wire::IpAddress& group, QpId qp);
    [[nodiscard]] bool has(QpId qp) const;

    // Calls `use` for each QP of the group, in the order in which they were attached.
    template <typename Use>
    void for_each_of(const wire::IpAddress& group, Use use) const {
        for (const Attachment& one : attachments_) {
            if (one.group == group) use(one.qp);
        }
    }

  private:
    struct Attachment {
        wire::IpAddress group;
        QpId qp;

        friend bool operator==(const Attachment&, const Attachment&) = default;
    };

    std::uint32_t limit_;
    std::uint32_t qps_of_group_;
    std::vector<Attachment> attachments_;
};

} // namespace veriroce::engine
