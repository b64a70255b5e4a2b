// A device that carries out another change of state than the one that its host asks for. Inside the
// room only.
#pragma once

#include <map>

#include "conformance/mutants/packets.hpp"

namespace veriroce::mutants {

// In state `From` a QP that is asked to go to `Asked` goes to `Instead`.
template <engine::QpState From, engine::QpState Asked, engine::QpState Instead>
class OtherTransition final : public engine::SurfaceFilter {
  public:
    void qp_changed(const engine::QpReport& report) override {
        states_.insert_or_assign(report.qpn, report.state);
    }
    void qp_destroyed(wire::Qpn qpn) override { states_.erase(qpn); }
    void modifying(wire::Qpn qpn, engine::QpAttributes& attributes) override {
        const auto state = states_.find(qpn);
        const bool there = state != states_.end() && state->second == From;
        if (!there || attributes.state != Asked) return;
        attributes = {};
        attributes.state = Instead;
    }

  private:
    std::map<wire::Qpn, engine::QpState> states_;
};

} // namespace veriroce::mutants
