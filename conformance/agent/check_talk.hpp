// The conversation with the agent under check: one connection that sends requests, waits for the
// answers and checks them, and the report that it writes. check_questions.cpp has the questions.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "conformance/dut/codec.hpp"
#include "transport/net/line_client.hpp"

namespace veriroce::agent {

// One line per check. A failed check also shows what was sent, what the contract expects and what
// came instead.
class CheckReport {
  public:
    using Sink = std::function<void(std::string_view line)>;
    explicit CheckReport(Sink sink) : sink_(std::move(sink)) {}

    void group(std::string_view name) { group_ = name; }
    void pass(std::string_view what);
    void fail(std::string_view what, std::string_view sent, std::string_view expected,
              std::string_view got);
    void skip(std::string_view what, std::string_view why);
    void summary();

    [[nodiscard]] unsigned passed() const { return passed_; }
    [[nodiscard]] unsigned failed() const { return failed_; }

  private:
    void say(std::string_view verdict, std::string_view what);

    Sink sink_;
    std::string group_;
    unsigned passed_ = 0;
    unsigned failed_ = 0;
    unsigned skipped_ = 0;
};

// A connection to the agent under check. After a missing answer it asks nothing more: the first
// failure has already reported the problem.
class Talk {
  public:
    // How long an answer may take beyond the call's own wait; verbs block.
    static constexpr wire::Duration patience = std::chrono::seconds(10);

    // The error is one sentence: nothing listens at the address.
    static std::expected<Talk, std::string> open(const net::LineAddress& address,
                                                 CheckReport& report);

    // The call must give the result that the contract documents for the method.
    template <typename Method>
    std::optional<typename Method::Gives> gives(std::string_view what, const Method& method) {
        auto answer = ask(what, method);
        if (!answer) return std::nullopt;
        if (!*answer) {
            check(false, what, "a result as the contract documents it for the method");
            return std::nullopt;
        }
        check(true, what, {});
        return std::get<typename Method::Gives>(std::move(**answer));
    }

    // The call must fail with this code; if the device refused the verb, also with an errno.
    void refuses(std::string_view what, const dut::Request& request, dut::FailureCode code,
                 std::string_view contract, std::string_view errno_name = {});
    // The same for a line that the encoder cannot write; `id` is the id of the answer, as JSON.
    void refuses_line(std::string_view what, const std::string& line, std::string_view id,
                      dut::FailureCode code, std::string_view contract);
    // After this first line the agent must close the connection without an answer, not earlier than
    // after `not_before`.
    void hangs_up(std::string_view what, const std::string& line, std::string_view contract,
                  wire::Duration not_before = {});
    // The agent must close the connection now, without another line.
    void ends(std::string_view what, std::string_view contract);

    // Sends without waiting; `next` takes the answers in the order of their arrival.
    dut::CallId send(const dut::Request& request);
    std::optional<dut::Reply> next(std::string_view what, wire::Duration within = patience);

    // Reports the last exchange as passed or failed.
    void check(bool good, std::string_view what, std::string_view expected);

    [[nodiscard]] bool lost() const { return lost_; }
    [[nodiscard]] CheckReport& report() { return *report_; }

  private:
    Talk(net::LineClient client, CheckReport& report)
        : client_(std::move(client)), report_(&report) {}

    std::optional<dut::Answer> ask(std::string_view what, const dut::Request& request);
    bool send_line(const std::string& line);
    bool closes();
    std::optional<std::string> line_within(wire::Duration within);

    net::LineClient client_;
    CheckReport* report_;
    std::uint64_t next_call_ = 1;
    dut::OpenCalls open_;
    std::string sent_;
    std::string came_;
    bool lost_ = false;
};

} // namespace veriroce::agent
