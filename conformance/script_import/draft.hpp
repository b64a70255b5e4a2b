// A script while it is written: header, lines, and what is said of them in comments.
// Internal to this room.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "conformance/script_import/exchange.hpp"

namespace veriroce::script_import {

class Draft {
  public:
    void remark(std::string_view text) { remarks_.emplace_back(text); }
    // Each once, in the order in which they are first named.
    void rule(std::string_view id);
    void need(std::string_view word);
    void unless(std::string_view trait);
    void dut_qp(const std::string& attribute) { dut_qp_ += " " + attribute; }
    void tester_qp(const std::string& attribute) { tester_qp_ += " " + attribute; }

    void line(std::string text) { body_.push_back(std::move(text)); }
    void comment(std::string_view text);
    void blank_line() { body_.emplace_back("\n"); }
    // Room for lines that are known later; give the returned number to `fill`.
    std::size_t room();
    void fill(std::size_t room, std::string text) { body_[room] = std::move(text); }

    [[nodiscard]] std::string text(std::string_view title, std::string_view role) const;

  private:
    std::vector<std::string> remarks_;
    std::vector<std::string> rules_;
    std::vector<std::string> needs_;
    std::vector<std::string> traits_;
    std::string dut_qp_;
    std::string tester_qp_;
    std::vector<std::string> body_;
};

// A run of numbered work requests or completions: "id=3", "id=1..8".
std::string ids(std::uint64_t first, std::uint64_t last);
// `> SEND_ONLY  psn=3`, and the flags that the packet has.
std::string flags_of(const wire::Bth& bth, bool ack_request);
// hex"00 11"
std::string hex(const std::vector<std::byte>& bytes);
// Whether it is answered by READ responses or an atomic's answer: those count against what a QP
// may have under way, and nothing behind them is acknowledged before them (REQ-08).
bool answered_in_turn(const wire::OpcodeInfo& info);
// The same, by an empty READ response (EXT-02).
bool answered_empty(const wire::OpcodeInfo& info);
// Names what a device must be able to do for this request.
void need_for(const wire::OpcodeInfo& info, Draft& draft);
// What an RC script cannot say of this packet; empty if it can.
std::string unspeakable(const Event& event);
// What both kinds of script say of the connection, in their header and first comments.
void describe(const Exchange& exchange, Draft& draft);

} // namespace veriroce::script_import
