// What an agent serves: a device, opened once per connection. Closing the connection destroys its
// objects, and no connection sees another's objects.
#pragma once

#include <expected>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "conformance/agent/options.hpp"
#include "conformance/dut/executor.hpp"

namespace veriroce::agent {

class Backend {
  public:
    Backend() = default;
    Backend(const Backend&) = delete;
    Backend& operator=(const Backend&) = delete;
    virtual ~Backend() = default;

    // "rxe0 (verbs)": for the line that the agent prints when it starts.
    [[nodiscard]] virtual std::string text() const = 0;
    // Opens the device for one connection. The agent sends a Failure to the peer, then closes the
    // connection.
    virtual std::expected<std::unique_ptr<dut::Executor>, dut::Failure> open_device() = 0;

    // For a backend that sends and receives packets itself: a descriptor to watch (-1: none), and
    // the function to call when it is readable or the deadline has passed.
    [[nodiscard]] virtual int descriptor() const { return -1; }
    [[nodiscard]] virtual std::optional<wire::Instant> next_deadline() const { return {}; }
    virtual void advance(wire::Instant /*now*/) {}
};

// A backend, by its name on the command line. The error is one sentence.
struct BackendKind {
    std::string_view name;
    std::expected<std::unique_ptr<Backend>, std::string> (*open)(const Options& options);
};

} // namespace veriroce::agent
