// A device whose QPs all have an attribute of one of them. Inside the room only.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "conformance/mutants/packets.hpp"

namespace veriroce::mutants {

// All QPs have the attribute of the QP that was set up first.
template <auto Attribute>
class OfFirstQp final : public engine::SurfaceFilter {
  public:
    void modifying(wire::Qpn qpn, engine::QpAttributes& attributes) override {
        auto& value = attributes.*Attribute;
        if (!value) return;
        asked_.insert_or_assign(qpn, *value);
        if (!first_) first_ = qpn;
        value = asked_.at(*first_);
    }
    void queried(engine::QpReport& report) override {
        const auto asked = asked_.find(report.qpn);
        if (asked != asked_.end()) report.attributes.*Attribute = asked->second;
    }

  private:
    std::optional<wire::Qpn> first_;
    std::map<wire::Qpn, std::uint8_t> asked_;
};

} // namespace veriroce::mutants
