#include "transport/net/ethtool_features.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "transport/net/ethtool_command.hpp"

namespace veriroce::net {

namespace {

constexpr std::size_t kBitsPerBlock = 32;

} // namespace

int EthtoolFeatures::call(void* command) const {
    return ethtool_call(socket_, interface_, command);
}

std::expected<EthtoolFeatures, Error> EthtoolFeatures::open(const std::string& interface) {
    Descriptor socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    if (!socket.valid()) return std::unexpected(system_error("cannot open a socket", errno));
    EthtoolFeatures features(std::move(socket), interface);
    if (auto read = features.read_names(); !read) return std::unexpected(read.error());
    return features;
}

std::expected<void, Error> EthtoolFeatures::read_names() {
    const auto failed = [this](int number) {
        return std::unexpected(system_error("cannot read the offloads of " + interface_, number));
    };
    EthtoolCommand<ethtool_sset_info> info(ETHTOOL_GSSET_INFO, sizeof(std::uint32_t));
    info.get()->sset_mask = 1ULL << ETH_SS_FEATURES;
    if (const int number = call(info.get()); number != 0) return failed(number);
    const std::size_t count = info.get()->sset_mask == 0 ? 0 : info.get()->data[0];

    EthtoolCommand<ethtool_gstrings> strings(ETHTOOL_GSTRINGS, count * ETH_GSTRING_LEN);
    strings.get()->string_set = ETH_SS_FEATURES;
    strings.get()->len = static_cast<std::uint32_t>(count);
    if (const int number = call(strings.get()); number != 0) return failed(number);
    for (std::size_t i = 0; i < count; ++i) {
        const auto* text = reinterpret_cast<const char*>(&strings.get()->data[i * ETH_GSTRING_LEN]);
        names_.emplace_back(text, ::strnlen(text, ETH_GSTRING_LEN));
    }
    return {};
}

std::expected<bool, Error>
EthtoolFeatures::read_bit(std::string_view name,
                          std::uint32_t ethtool_get_features_block::* word) const {
    const auto found = std::ranges::find(names_, name);
    if (found == names_.end()) return false;
    const auto bit = static_cast<std::size_t>(found - names_.begin());
    const auto blocks = (names_.size() + kBitsPerBlock - 1) / kBitsPerBlock;
    EthtoolCommand<ethtool_gfeatures> read(ETHTOOL_GFEATURES,
                                           blocks * sizeof(ethtool_get_features_block));
    read.get()->size = static_cast<std::uint32_t>(blocks);
    if (const int number = call(read.get()); number != 0) {
        return std::unexpected(system_error("cannot read the offloads of " + interface_, number));
    }
    return (read.get()->features[bit / kBitsPerBlock].*word >> bit % kBitsPerBlock & 1U) != 0;
}

std::expected<bool, Error> EthtoolFeatures::is_on(std::string_view name) const {
    return read_bit(name, &ethtool_get_features_block::active);
}

bool EthtoolFeatures::can_change(std::string_view name) const {
    return read_bit(name, &ethtool_get_features_block::available).value_or(false);
}

int EthtoolFeatures::set(std::string_view name, bool on) const {
    const auto found = std::ranges::find(names_, name);
    if (found == names_.end()) return EOPNOTSUPP;
    const auto bit = static_cast<std::size_t>(found - names_.begin());
    const auto blocks = (names_.size() + kBitsPerBlock - 1) / kBitsPerBlock;
    EthtoolCommand<ethtool_sfeatures> write(ETHTOOL_SFEATURES,
                                            blocks * sizeof(ethtool_set_features_block));
    write.get()->size = static_cast<std::uint32_t>(blocks);
    auto& block = write.get()->features[bit / kBitsPerBlock];
    block.valid = 1U << bit % kBitsPerBlock;
    block.requested = on ? block.valid : 0;
    return call(write.get());
}

} // namespace veriroce::net
