// Inside this room: the features of one interface by their kernel names, as `ethtool -k` shows
// them.
#pragma once

#include <linux/ethtool.h>

#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "transport/net/descriptor.hpp"

namespace veriroce::net {

class EthtoolFeatures {
  public:
    static std::expected<EthtoolFeatures, Error> open(const std::string& interface);

    // Whether the feature is on now; false as well for one that this kernel does not know.
    [[nodiscard]] std::expected<bool, Error> is_on(std::string_view name) const;

    // Asks the driver to change one feature. An errno; 0 also if the driver did not do it: look.
    [[nodiscard]] int set(std::string_view name, bool on) const;

  private:
    EthtoolFeatures(Descriptor socket, std::string interface)
        : socket_(std::move(socket)), interface_(std::move(interface)) {}
    // An ETHTOOL ioctl on our interface; 0 or an errno.
    int call(void* command) const;
    std::expected<void, Error> read_names();

    Descriptor socket_;
    std::string interface_;
    std::vector<std::string> names_; // the index is the feature's bit
};

} // namespace veriroce::net
