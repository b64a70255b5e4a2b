// Executes requests at once: on the engine in memory, or with libibverbs in the agent. It never
// waits: PendingCalls executes a call with `wait_ms` again until it has a result.
#pragma once

#include "conformance/dut/contract.hpp"

namespace veriroce::dut {

class Executor {
  public:
    Executor() = default;
    Executor(const Executor&) = delete;
    Executor& operator=(const Executor&) = delete;
    virtual ~Executor() = default;

    // Hello returns the description of the device (the session checks the token), Reset destroys
    // the objects of this executor, Cancel does nothing here.
    virtual Answer execute(const Request& request, wire::Instant now) = 0;
};

// A request with an invalid handle, range or value: -32602.
Failure invalid(std::string message);
// A handle that names no object of this connection: -32602, "qp: unknown handle 7".
Failure no_such(std::string_view field, std::uint64_t handle);
// A verb that the device refused: -32000.
Failure refused(std::string_view verb, std::string errno_name, std::string message);
// A method that this device does not have: -32601.
Failure no_method(std::string_view method, std::string_view reason);

} // namespace veriroce::dut
