#include "conformance/preflight/pair.hpp"

#include <algorithm>

namespace veriroce::preflight {

bool link_local(const wire::IpAddress& address) {
    return !address.v4() && address.bytes[0] == std::byte{0xFE} &&
           (address.bytes[1] & std::byte{0xC0}) == std::byte{0x80};
}

Pair best_pair(const std::vector<dut::Gid>& gids, const std::vector<wire::IpAddress>& testers,
               const std::vector<net::Subnet>& subnets) {
    for (const dut::Gid& gid : gids) {
        for (const wire::IpAddress& tester : testers) {
            const auto has_both = [&](const net::Subnet& one) {
                return one.contains(gid.address) && one.contains(tester);
            };
            if (std::ranges::any_of(subnets, has_both)) return {gid, tester, true};
        }
    }
    return {gids.front(), testers.front(), false};
}

} // namespace veriroce::preflight
