// Measures what the wire does to packets before a device is blamed: exchanges that need nothing but
// a QP, and that say nothing about the device.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "conformance/plan/replay.hpp"
#include "conformance/script/script.hpp"
#include "conformance/testbed/testbed.hpp"

namespace veriroce::plan {

class WireProbe {
  public:
    // Of the next exchange: with QPs of its own.
    using NextEnvironment = std::function<interpreter::Environment()>;

    WireProbe();
    // Until the record has seen enough packets of probes, the testbed breaks or a signal comes.
    // Nothing is left to do once that is so.
    void probe(testbed::Testbed& testbed, WireRecord& wire,
               const NextEnvironment& next_environment) const;

  private:
    std::vector<script::Script> scripts_; // the first that the device answers
};

} // namespace veriroce::plan
