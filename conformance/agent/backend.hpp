// What an agent serves: a device, opened once for each connection, so that what a connection made
// dies with it and no connection sees another's objects.
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
    // A device of its own for one connection. A Failure is told to the peer, who is then closed.
    virtual std::expected<std::unique_ptr<dut::Executor>, dut::Failure> open_device() = 0;

    // For a backend that speaks on the wire itself: a descriptor to watch (-1: none), and what to
    // do when it is readable or its deadline has come.
    [[nodiscard]] virtual int descriptor() const { return -1; }
    [[nodiscard]] virtual std::optional<wire::Instant> next_deadline() const { return {}; }
    virtual void advance(wire::Instant /*now*/) {}
};

// A backend by its name on the command line. The error is one sentence.
struct BackendKind {
    std::string_view name;
    std::expected<std::unique_ptr<Backend>, std::string> (*open)(const Options& options);
};

} // namespace veriroce::agent
