// Who sees every frame where it comes in and where it goes out: a capture file, the report.
#pragma once

#include "transport/inject/bump.hpp"

namespace veriroce::inject {

class Observer {
  public:
    virtual ~Observer() = default;
    virtual void came(End port, wire::Bytes frame, const Handled& handled, wire::Instant at) = 0;
    // `changed`: by a rule, or sent later than it came.
    virtual void went(End port, wire::Bytes frame, bool changed, wire::Instant at) = 0;
};

} // namespace veriroce::inject
