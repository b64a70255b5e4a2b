// The interpreter of one run of a case, sans-IO: it plays the script against a device that it knows
// only by packets, answers of the DUT contract and the time, and ends with a result.
//
// A testbed calls `start`, feeds `events()` (packets, answers) and `advance` (the time), carries
// out the actions of `events().poll_action()`, and fetches the result with `finish`.
//
// Each kind of line is a function `play(Interpreter&, const script::KIND&, Span)` in the file of
// its subject; interpreter.cpp and commands.cpp choose among them. What they work on is in five
// parts:
//
//   Record      every packet that was sent or heard, parsed once
//   Wire        packets out and in, fault rules, delayed frames
//   Objects     QPs, protection domains, queues, regions, windows
//   TesterPeer  the tester's end of the QPs: the built-in engine
//   Clock       when the previous line ended, and when the tester's timed packets left
//
// Source: conformance/script/README.md.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "conformance/interpreter/case_result.hpp"
#include "conformance/interpreter/met.hpp"
#include "conformance/interpreter/task.hpp"
#include "dissector/wire/instant.hpp"

namespace veriroce::interpreter {

class Clock;
class Events;
class Record;
class TesterPeer;
class Wire;
struct Environment;
struct HostLook;
struct Objects;

class Interpreter {
  public:
    // `script` and `run` have to live as long as the interpreter.
    Interpreter(const script::Case& script, const script::Run& run, const Environment& environment);
    Interpreter(const Interpreter&) = delete;
    Interpreter& operator=(const Interpreter&) = delete;
    ~Interpreter();

    // --- for the testbed
    // Plays up to the first wait.
    void start(wire::Instant now);
    [[nodiscard]] bool finished() const;
    // The time is now `now`: deadlines of the script and of the tester's engine may be due.
    void advance(wire::Instant now);
    [[nodiscard]] std::optional<wire::Instant> deadline() const;
    // When the frame of a SendFrame action was on the wire.
    void sent(std::uint64_t number, Interval at);
    // The result; after finished(), or when the testbed gives up.
    CaseResult finish();

    [[nodiscard]] Events& events();

    // --- for the lines
    [[nodiscard]] const script::Case& script() const;
    [[nodiscard]] const script::Run& run() const;
    [[nodiscard]] const Environment& environment() const; // with the case's `... address` names
    [[nodiscard]] Record& record();
    [[nodiscard]] Wire& wire();
    [[nodiscard]] Objects& objects();
    [[nodiscard]] TesterPeer& tester();
    [[nodiscard]] Clock& clock();
    [[nodiscard]] CaseResult& result();
    [[nodiscard]] std::optional<HostLook>& last_look();

  private:
    struct Parts;
    std::unique_ptr<Parts> parts_;
};

// Plays the statements of a block in order, each with the `play` of its kind.
Task<Met<>> play(Interpreter& interpreter, const script::Block& statements);

} // namespace veriroce::interpreter
