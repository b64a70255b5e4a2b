// A device behind an agent on another machine (or in another process): JSON-RPC over a line stream.
//
//   auto dut = RemoteDut::connect(address, token, now + 5s);    error: one sentence
//   dut->welcome();                                      what the agent says about its device
//   auto id = dut->submit(PostSend{...}, now);           pipelined: nothing waits for answers
//   driver: sleep until dut->descriptor() is readable or dut->next_deadline(), then poll
//
// Times are net::monotonic_now(). submit() blocks only while the agent does not read, and for at
// most send_within. A lost device stays lost: every open and every later call is answered with
// FailureCode::Lost and the reason.
//
// Source: conformance/agent/README.md.
#pragma once

#include <deque>
#include <expected>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "conformance/dut/capabilities.hpp"
#include "conformance/dut/codec.hpp"
#include "conformance/dut/dut.hpp"
#include "transport/net/line_client.hpp"

namespace veriroce::dut {

class RemoteDut final : public Dut {
  public:
    // How long a call may take beyond its own wait_ms. Verbs block: a device may look for a
    // neighbour, or wait until a QP has finished its work.
    static constexpr wire::Duration answer_within = std::chrono::seconds(30);
    static constexpr wire::Duration send_within = std::chrono::seconds(5);

    // Connects and sends hello. The error is one sentence that says what happened and what to do.
    static std::expected<std::unique_ptr<RemoteDut>, std::string>
    connect(const net::LineAddress& address, const std::optional<std::string>& token,
            wire::Instant deadline);

    CallId submit(Request request, wire::Instant now) override;
    std::optional<Reply> poll(wire::Instant now) override;
    [[nodiscard]] std::optional<wire::Instant> next_deadline() const override;
    [[nodiscard]] int descriptor() const override { return client_.fd(); }

    [[nodiscard]] const Welcome& welcome() const { return welcome_; }
    // From now on hello describes only what the user chose of the device.
    std::expected<void, std::string> choose(const Chosen& chosen) {
        return dut::choose(welcome_, chosen);
    }

  private:
    explicit RemoteDut(net::LineClient client) : client_(std::move(client)) {}

    std::expected<void, std::string> greet(const std::optional<std::string>& token,
                                           wire::Instant deadline);
    void lose(std::string reason);
    void read_answers(wire::Instant now);
    std::string overdue(CallId call) const;

    net::LineClient client_;
    Welcome welcome_;
    std::uint64_t next_call_ = 1;
    OpenCalls open_;
    std::map<CallId, wire::Instant> due_; // of each open call
    std::deque<Reply> ready_;
    std::string lost_; // the reason; empty while the connection works
};

} // namespace veriroce::dut
