#include "conformance/plan/device_notes.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace veriroce::plan {

namespace {

struct Known {
    std::string_view driver;
    std::string_view file;
};
// As the `drivers` keys of the files have it; a test compares them.
constexpr std::array kKnown{Known{"rdma_rxe", "linux-rxe.yaml"}, Known{"mlx5_core", "mlx5.yaml"},
                            Known{"bnxt_en", "bnxt_re.yaml"},    Known{"ice", "irdma.yaml"},
                            Known{"qede", "qedr.yaml"},          Known{"hns3", "hns.yaml"},
                            Known{"ionic", "ionic.yaml"},        Known{"mana", "mana.yaml"}};

} // namespace

std::optional<std::string_view> profile_for_driver(std::string_view driver) {
    const auto found = std::ranges::find(kKnown, driver, &Known::driver);
    if (found == kKnown.end()) return std::nullopt;
    return found->file;
}

std::vector<std::string> device_notes(const dut::Welcome& device,
                                      const std::optional<Profile>& profile) {
    std::vector<std::string> notes;
    if (std::ranges::find(device.capabilities, "query_qp") == device.capabilities.end()) {
        notes.emplace_back("the device does not report the state of a QP (query_qp): the lines "
                           "'dut state' are passed over");
    }
    const std::string driver = device.driver.value_or("");
    if (profile) {
        if (!profile->unverified.empty())
            notes.push_back(fmt::format("the profile is unverified: {}", profile->unverified));
        const auto& drivers = profile->drivers;
        if (!drivers.empty() && !driver.empty() &&
            std::ranges::find(drivers, driver) == drivers.end()) {
            notes.push_back(fmt::format("the profile is for the driver {}, and the device has {}",
                                        fmt::join(drivers, " or "), driver));
        }
    } else if (const auto file = profile_for_driver(driver)) {
        notes.push_back(fmt::format("the profile for devices of the driver {} is not used: "
                                    "--profile conformance/profiles/{}",
                                    driver, *file));
    }
    return notes;
}

} // namespace veriroce::plan
