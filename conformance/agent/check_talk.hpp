// What an agent is asked and what is thought of its answers: one connection that sends, waits and
// judges, and the report that it writes. The questions stand in check_questions.cpp.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "conformance/dut/codec.hpp"
#include "transport/net/line_client.hpp"

namespace veriroce::agent {

// One line for each thing that is right; for each that is wrong what was sent, what came and what
// the contract says.
class CheckReport {
  public:
    using Sink = std::function<void(std::string_view line)>;
    explicit CheckReport(Sink sink) : sink_(std::move(sink)) {}

    void group(std::string_view name) { group_ = name; }
    void right(std::string_view what);
    void wrong(std::string_view what, std::string_view sent, std::string_view came,
               std::string_view contract);
    void left_out(std::string_view what, std::string_view why);
    void summary();

    [[nodiscard]] unsigned rights() const { return right_; }
    [[nodiscard]] unsigned wrongs() const { return wrong_; }

  private:
    void say(std::string_view verdict, std::string_view what);

    Sink sink_;
    std::string group_;
    unsigned right_ = 0;
    unsigned wrong_ = 0;
    unsigned left_out_ = 0;
};

// A connection to the agent under check. Once an answer does not come, it asks no more: every later
// question is passed over in silence, because the first one said what is wrong.
class Talk {
  public:
    // How long an answer may take beyond the call's own wait; verbs block.
    static constexpr wire::Duration patience = std::chrono::seconds(10);

    // The error is one sentence: nobody listens there.
    static std::expected<Talk, std::string> open(const net::LineAddress& address,
                                                 CheckReport& report);

    // The call gives what its method's row says.
    template <typename Method>
    std::optional<typename Method::Gives> gives(std::string_view what, const Method& method) {
        auto answer = ask(what, method);
        if (!answer) return std::nullopt;
        if (!*answer) {
            judge(false, what, "a result of the shape in the method's row");
            return std::nullopt;
        }
        judge(true, what, {});
        return std::get<typename Method::Gives>(std::move(**answer));
    }

    // The call is refused with this code, and of a refused verb with an errno.
    void refuses(std::string_view what, const dut::Request& request, dut::FailureCode code,
                 std::string_view contract, std::string_view errno_name = {});
    // The same of a line that no encoder writes; `id` is the answer's, as JSON.
    void refuses_line(std::string_view what, const std::string& line, std::string_view id,
                      dut::FailureCode code, std::string_view contract);
    // After this first line the connection is closed without a word, and not before `not_before`.
    void hangs_up(std::string_view what, const std::string& line, std::string_view contract,
                  wire::Duration not_before = {});
    // The agent closes the connection now, without another word.
    void ends(std::string_view what, std::string_view contract);

    // Sends without waiting; answers are taken in the order in which they come.
    dut::CallId send(const dut::Request& request);
    std::optional<dut::Reply> next(std::string_view what, wire::Duration within = patience);

    // Writes what is thought of the last exchange.
    void judge(bool good, std::string_view what, std::string_view contract);

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
