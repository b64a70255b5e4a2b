// The data sheet of a device: what it is, measured and not judged. Quantities are distributions,
// behaviours are classes that follow from what its packets show.
//
// Units: times in ns, rates in bits per second; the others are counts. Source: the quantities of
// the published studies of RDMA NICs; conformance/sheet/README.md says how each is measured.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace veriroce::sheet {

enum class Unit : std::uint8_t { Nanoseconds, Packets, BitsPerSecond };
std::string_view name_of(Unit unit); // "ns", "packets", "bit/s"
std::optional<Unit> unit_named(std::string_view name);

// The samples of one setting.
struct Series {
    std::string label;                 // "code 14", "WRITE 1 %"; empty if there is one setting only
    std::optional<std::int64_t> asked; // what the setting asks for, in the quantity's unit
    std::vector<std::int64_t> samples; // in the order of measuring

    friend bool operator==(const Series&, const Series&) = default;
};

struct Quantity {
    std::string name;  // "nak_latency"
    std::string title; // "NAK after a packet that is ahead"
    Unit unit = Unit::Nanoseconds;
    std::vector<Series> series;

    friend bool operator==(const Quantity&, const Quantity&) = default;
};

struct Behaviour {
    std::string name;     // "loss_recovery"
    std::string title;    // "What the requester sends again after a NAK"
    std::string kind;     // "go-back-N"
    std::string evidence; // "after a NAK of PSN 4 it sent 4 to 15 again"

    friend bool operator==(const Behaviour&, const Behaviour&) = default;
};

struct DataSheet {
    std::vector<Quantity> quantities;
    std::vector<Behaviour> behaviours;

    [[nodiscard]] bool empty() const { return quantities.empty() && behaviours.empty(); }
    // The quantity of this name; a new one if there is none yet.
    Quantity& quantity(std::string_view name, std::string_view title, Unit unit);
    void add(std::string_view name, std::string_view title, Unit unit, std::string_view label,
             std::int64_t sample, std::optional<std::int64_t> asked = std::nullopt);
    // Two of one name that disagree are both kept: a device may do now this, now that.
    void add(Behaviour behaviour);
    // Joins the samples of a part or of another round.
    void merge(const DataSheet& other);

    friend bool operator==(const DataSheet&, const DataSheet&) = default;
};

} // namespace veriroce::sheet
