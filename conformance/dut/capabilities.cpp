#include "conformance/dut/capabilities.hpp"

#include <algorithm>
#include <string>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace veriroce::dut {

namespace {

bool has(const Welcome& welcome, std::string_view word) {
    return std::ranges::find(welcome.capabilities, word) != welcome.capabilities.end();
}

void add(Welcome& welcome, std::string_view word) {
    if (!has(welcome, word)) welcome.capabilities.emplace_back(word);
}

} // namespace

void complete(Welcome& welcome) {
    const bool one_type = has(welcome, "mw1") || has(welcome, "mw2");
    if (!welcome.probed.value_or(false)) {
        for (const std::string_view word : {"mtu256", "reset_reuse", "query_qp"})
            add(welcome, word);
        if (has(welcome, "mw") && !one_type) {
            add(welcome, "mw1");
            add(welcome, "mw2");
        }
    }
    if (one_type) add(welcome, "mw");
}

void remove_capability(Welcome& welcome, std::string_view word) {
    const auto erase = [&](std::string_view one) { std::erase(welcome.capabilities, one); };
    erase(word);
    if (word == "congestion") welcome.congestion.reset();
    if (word == "mw") {
        erase("mw1");
        erase("mw2");
    }
    const bool window = word == "mw1" || word == "mw2";
    if (window && !has(welcome, "mw1") && !has(welcome, "mw2")) erase("mw");
}

std::expected<void, std::string> choose(Welcome& welcome, const Chosen& chosen) {
    if (chosen.port) {
        const auto port = std::ranges::find(welcome.ports, *chosen.port, &Port::port);
        if (port == welcome.ports.end()) {
            std::vector<unsigned> has;
            for (const Port& one : welcome.ports)
                has.push_back(one.port);
            return std::unexpected(fmt::format("the device {} has no port {}; it has {}",
                                               welcome.device, *chosen.port, fmt::join(has, ", ")));
        }
        std::rotate(welcome.ports.begin(), port, port + 1);
    }
    if (chosen.gids.empty() || welcome.ports.empty()) return {};
    auto& gids = welcome.ports.front().gids;
    for (const std::uint32_t index : chosen.gids) {
        if (std::ranges::find(gids, index, &Gid::index) != gids.end()) continue;
        std::vector<std::string> has;
        for (const Gid& one : gids)
            has.push_back(fmt::format("{} ({})", one.index, one.address.text()));
        return std::unexpected(fmt::format("port {} of the device {} has no GID {}; it has {}",
                                           welcome.ports.front().port, welcome.device, index,
                                           fmt::join(has, ", ")));
    }
    std::erase_if(gids, [&](const Gid& one) {
        return std::ranges::find(chosen.gids, one.index) == chosen.gids.end();
    });
    return {};
}

void add_capability(Welcome& welcome, std::string_view word) {
    add(welcome, word);
    if (word == "mw1" || word == "mw2") add(welcome, "mw");
    if (word == "mw" && !has(welcome, "mw1") && !has(welcome, "mw2")) {
        add(welcome, "mw1");
        add(welcome, "mw2");
    }
}

std::optional<std::uint16_t> vlan_with_both(const Welcome& welcome) {
    if (welcome.ports.empty()) return std::nullopt;
    const auto& gids = welcome.ports.front().gids;
    for (const Gid& one : gids) {
        if (!one.vlan) continue;
        const auto has = [&](bool v4) {
            return std::ranges::any_of(gids, [&](const Gid& other) {
                return other.vlan == one.vlan && other.type == "rocev2" && other.address.v4() == v4;
            });
        };
        if (has(true) && has(false)) return one.vlan;
    }
    return std::nullopt;
}

} // namespace veriroce::dut
