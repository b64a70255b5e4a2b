// A device under test as the interpreter sees it: requests go in, answers come out later. The
// interface is the same for the built-in engine in virtual time and for an agent on another
// machine.
//
//   CallId id = dut.submit(PostSend{...}, now);
//   while (auto reply = dut.poll(now)) ...          a reply may overtake one that waits
//   driver: sleep until dut.next_deadline() or until its descriptor() is readable, then poll again
//
// A request without a wait is answered in order. Nothing here blocks.
#pragma once

#include <optional>

#include "conformance/dut/contract.hpp"

namespace veriroce::dut {

struct Reply {
    CallId call;
    Answer answer;
};

class Dut {
  public:
    Dut() = default;
    Dut(const Dut&) = delete;
    Dut& operator=(const Dut&) = delete;
    virtual ~Dut() = default;

    // Ids count up from 1 and are never reused; Cancel names one of them.
    virtual CallId submit(Request request, wire::Instant now) = 0;
    // The next answer that is ready. If the device is lost, every open and every later call is
    // answered with FailureCode::Lost and the reason.
    virtual std::optional<Reply> poll(wire::Instant now) = 0;
    // The instant at which poll() may have an answer although nothing arrived from outside.
    [[nodiscard]] virtual std::optional<wire::Instant> next_deadline() const = 0;
    // Readable when poll() may have an answer; -1 if there is none (virtual time).
    [[nodiscard]] virtual int descriptor() const = 0;
};

} // namespace veriroce::dut
