// Collects deviations: one for each rule and field of a QP, with the first packets that show it.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include <fmt/format.h>

#include "conformance/model/deviation.hpp"
#include "dissector/wire/types.hpp"

namespace veriroce::model {

class DeviationLog {
  public:
    static constexpr std::size_t kMostPackets = 8; // that one deviation names

    void add(Deviation deviation, wire::Qpn qp);
    [[nodiscard]] std::vector<Deviation> take() { return std::move(all_); }

  private:
    using Key = std::tuple<std::string, std::string, wire::Qpn>;
    std::vector<Deviation> all_;
    std::map<Key, std::size_t> known_; // by rule, field, QP
};

// What is said of one packet of the device.
class PacketLog {
  public:
    PacketLog(DeviationLog& log, std::size_t number, wire::Qpn qp)
        : log_(log), number_(number), qp_(qp) {}

    // The field has this one value.
    template <typename T>
    bool equals(std::string_view rule, rules::Level level, std::string_view field, const T& allowed,
                const T& measured) {
        if (allowed == measured) return true;
        add(rule, level, field, fmt::format("{} must be {}", field, allowed),
            fmt::format("{} is {}", field, measured));
        return false;
    }
    void add(std::string_view rule, rules::Level level, std::string_view field, std::string allowed,
             std::string measured, rules::FindingClass kind = rules::FindingClass::Contradiction);

  private:
    DeviationLog& log_;
    std::size_t number_;
    wire::Qpn qp_;
};

} // namespace veriroce::model
