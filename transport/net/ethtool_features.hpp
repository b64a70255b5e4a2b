// Internal: the features of an interface by their kernel names, as in `ethtool -k`.
#pragma once

#include <linux/ethtool.h>

#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "transport/net/descriptor.hpp"

namespace veriroce::net {

// Kernel name of the feature that ethtool calls rx-vlan-filter, too.
inline constexpr std::string_view kVlanFilter = "rx-vlan-filter";

class EthtoolFeatures {
  public:
    static std::expected<EthtoolFeatures, Error> open(const std::string& interface);

    // Whether the feature is on; also false if this kernel does not know it.
    [[nodiscard]] std::expected<bool, Error> is_on(std::string_view name) const;

    // Whether the driver lets it be changed (`ethtool -k` writes [fixed] otherwise).
    [[nodiscard]] bool can_change(std::string_view name) const;

    // Asks the driver to change a feature. Returns an errno, or 0 even if the driver did not change
    // it: check with is_on().
    [[nodiscard]] int set(std::string_view name, bool on) const;

  private:
    EthtoolFeatures(Descriptor socket, std::string interface)
        : socket_(std::move(socket)), interface_(std::move(interface)) {}
    // Performs an ETHTOOL ioctl on the interface; returns 0 or an errno.
    int call(void* command) const;
    std::expected<void, Error> read_names();
    // The feature's bit in this word of the kernel's answer; false if the kernel does not know it.
    std::expected<bool, Error> read_bit(std::string_view name,
                                        std::uint32_t ethtool_get_features_block::* word) const;

    Descriptor socket_;
    std::string interface_;
    std::vector<std::string> names_; // the index is the feature's bit
};

} // namespace veriroce::net
