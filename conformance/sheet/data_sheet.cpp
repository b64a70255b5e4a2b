#include "conformance/sheet/data_sheet.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace veriroce::sheet {
namespace {

struct UnitName {
    Unit unit;
    std::string_view name;
};
constexpr std::array kUnits{UnitName{Unit::Nanoseconds, "ns"}, UnitName{Unit::Packets, "packets"},
                            UnitName{Unit::BitsPerSecond, "bit/s"}};

// The element of which `key` is `name`; appended if there is none.
template <typename T>
T& named(std::vector<T>& all, std::string T::* key, std::string_view name) {
    const auto found = std::ranges::find(all, name, key);
    if (found != all.end()) return *found;
    T& added = all.emplace_back();
    added.*key = std::string(name);
    return added;
}

} // namespace

std::string_view name_of(Unit unit) {
    return std::ranges::find(kUnits, unit, &UnitName::unit)->name;
}

std::optional<Unit> unit_named(std::string_view name) {
    const auto found = std::ranges::find(kUnits, name, &UnitName::name);
    if (found == kUnits.end()) return std::nullopt;
    return found->unit;
}

Quantity& DataSheet::quantity(std::string_view name, std::string_view title, Unit unit) {
    Quantity& one = named(quantities, &Quantity::name, name);
    if (one.title.empty()) {
        one.title = std::string(title);
        one.unit = unit;
    }
    return one;
}

void DataSheet::add(std::string_view name, std::string_view title, Unit unit,
                    std::string_view label, std::int64_t sample,
                    std::optional<std::int64_t> asked) {
    Series& series = named(quantity(name, title, unit).series, &Series::label, label);
    series.asked = asked;
    series.samples.push_back(sample);
}

void DataSheet::add(Behaviour behaviour) {
    const bool known = std::ranges::any_of(behaviours, [&](const Behaviour& one) {
        return one.name == behaviour.name && one.kind == behaviour.kind;
    });
    if (!known) behaviours.push_back(std::move(behaviour));
}

void DataSheet::merge(const DataSheet& other) {
    for (const Quantity& theirs : other.quantities) {
        Quantity& ours = quantity(theirs.name, theirs.title, theirs.unit);
        for (const Series& one : theirs.series) {
            Series& series = named(ours.series, &Series::label, one.label);
            series.asked = one.asked;
            series.samples.insert(series.samples.end(), one.samples.begin(), one.samples.end());
        }
    }
    for (const Behaviour& one : other.behaviours)
        add(one);
}

} // namespace veriroce::sheet
