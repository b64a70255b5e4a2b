// What a plan of the in-line injector expects of the devices (conformance/script/README.md, "Plans
// for inject"). Values only; transport/inject judges them.
#pragma once

#include <cstdint>
#include <string>
#include <variant>

#include "dissector/wire/instant.hpp"

namespace veriroce::fault {

// Every fault that a transport must recover from is recovered after at most this long.
struct RecoveryWithin {
    wire::Duration longest{0};
};
// No NAK that ends a connection, and no fault without recovery.
struct NoError {};
// At most so many packets are sent again, of all connections.
struct RetransmissionsAtMost {
    std::uint64_t most = 0;
};

struct Expectation {
    std::variant<RecoveryWithin, NoError, RetransmissionsAtMost> what;
    std::uint32_t line = 0; // in the file
    std::string text;       // as written
};

} // namespace veriroce::fault
