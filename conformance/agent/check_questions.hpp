// The questions of `--check`, by group. Each group runs on its own connection, after hello; the end
// of the connection destroys its objects.
#pragma once

#include "conformance/agent/check_talk.hpp"

namespace veriroce::agent {

struct Subject {
    net::LineAddress address;
    std::optional<std::string> token;
    dut::Welcome welcome;
};

// hello, reported only if it fails.
std::optional<dut::Welcome> greet(Talk& talk, const std::optional<std::string>& token);

void ask_welcome(Talk& talk, const dut::Welcome& welcome);
// First lines other than a correct hello.
std::expected<void, std::string> ask_strangers(const Subject& subject, CheckReport& report);

void ask_errors(Talk& talk, const Subject& subject);
void ask_queues(Talk& talk, const Subject& subject);
void ask_memory(Talk& talk, const Subject& subject);
void ask_fills(Talk& talk, const Subject& subject);
void ask_qps(Talk& talk, const Subject& subject);
void ask_posts(Talk& talk, const Subject& subject);
void ask_waits(Talk& talk, const Subject& subject);
void ask_rest(Talk& talk, const Subject& subject);
void ask_groups(Talk& talk, const Subject& subject);
void ask_congestion(Talk& talk, const Subject& subject);
void ask_connections(Talk& talk, const Subject& subject);
void ask_apart(Talk& talk, const Subject& subject);

} // namespace veriroce::agent
