// What the reader of a report should know about the device and its profile.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "conformance/dut/contract.hpp"
#include "conformance/plan/profile.hpp"

namespace veriroce::plan {

// The file in conformance/profiles for devices of this driver; nothing if there is none.
std::optional<std::string_view> profile_for_driver(std::string_view driver);

// `device` is the answer to hello with what the profile, if any, knows of it.
std::vector<std::string> device_notes(const dut::Welcome& device,
                                      const std::optional<Profile>& profile);

} // namespace veriroce::plan
