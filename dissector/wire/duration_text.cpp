#include "dissector/wire/duration_text.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>

namespace veriroce::wire {

std::string short_time(Duration time) {
    struct Unit {
        std::int64_t ns;
        std::string_view name;
    };
    constexpr std::array kUnits{Unit{1'000'000'000, " s"}, Unit{1'000'000, " ms"},
                                Unit{1'000, " us"}};
    const std::int64_t ns = time.count();
    const auto unit = std::ranges::find_if(kUnits, [ns](const Unit& one) { return ns >= one.ns; });
    if (unit == kUnits.end()) return std::to_string(ns) + " ns";
    const std::int64_t thousandth = unit->ns / 1000;
    const std::int64_t thousandths = ns / thousandth; // what is smaller is cut off
    std::string text = std::to_string(thousandths / 1000);
    std::string decimals = std::to_string(1000 + thousandths % 1000).substr(1);
    decimals.erase(decimals.find_last_not_of('0') + 1);
    if (!decimals.empty()) text += "." + decimals;
    return text.append(unit->name);
}

} // namespace veriroce::wire
