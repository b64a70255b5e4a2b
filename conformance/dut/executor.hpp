// What carries requests out at once: the engine in memory, or libibverbs in the agent. It never
// waits: `wait_ms` is the call desk's affair, which asks again until there is something to say.
#pragma once

#include "conformance/dut/contract.hpp"

namespace veriroce::dut {

class Executor {
  public:
    Executor() = default;
    Executor(const Executor&) = delete;
    Executor& operator=(const Executor&) = delete;
    virtual ~Executor() = default;

    // Hello answers with what the device is (the token is the session's affair), Reset destroys
    // what this executor made, Cancel has nothing to end here.
    virtual Answer execute(const Request& request, wire::Instant now) = 0;
};

// A sentence for a request with a handle, a range or a value that cannot be: -32602.
Failure invalid(std::string message);
// The same for a handle that names no object of this connection: "qp: there is no 7".
Failure no_such(std::string_view field, std::uint64_t handle);
// A verb that the device refused: -32000.
Failure refused(std::string_view verb, std::string errno_name, std::string message);
// A method that this device has not: -32601.
Failure no_method(std::string_view method, std::string_view reason);

} // namespace veriroce::dut
