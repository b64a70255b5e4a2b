#include "conformance/script_import/draft.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace veriroce::script_import {
namespace {

constexpr std::size_t kColumns = 98; // of a comment's text and its `# `

void add_once(std::vector<std::string>& words, std::string_view word) {
    if (std::ranges::find(words, word) == words.end()) words.emplace_back(word);
}

// In lines of comments, broken between words.
void wrap(std::vector<std::string>& lines, std::string_view text) {
    while (text.size() > kColumns - 2) {
        std::size_t cut = text.rfind(' ', kColumns - 2);
        if (cut == std::string_view::npos || cut == 0) cut = kColumns - 2;
        lines.push_back("# " + std::string(text.substr(0, cut)));
        text.remove_prefix(std::min(cut + 1, text.size()));
    }
    lines.push_back("# " + std::string(text));
}

std::string header_line(std::string_view keyword, const std::vector<std::string>& words) {
    if (words.empty()) return {};
    return fmt::format("{} {}\n", keyword, fmt::join(words, " "));
}

} // namespace

void Draft::rule(std::string_view id) {
    add_once(rules_, id);
}

void Draft::need(std::string_view word) {
    add_once(needs_, word);
}

void Draft::unless(std::string_view trait) {
    add_once(traits_, trait);
}

void Draft::comment(std::string_view text) {
    wrap(body_, text);
}

std::size_t Draft::room() {
    body_.emplace_back();
    return body_.size() - 1;
}

std::string Draft::text(std::string_view title, std::string_view role) const {
    std::vector<std::string> lines;
    for (const std::string& remark : remarks_)
        wrap(lines, remark);
    std::string text = fmt::format("{}\n\n", fmt::join(lines, "\n"));
    text += header_line("rule", rules_);
    text += fmt::format("title \"{}\"\nrole {}\n", title, role);
    text += header_line("needs", needs_) + header_line("unless", traits_);
    if (!dut_qp_.empty()) text += "qp" + dut_qp_ + "\n";
    if (!tester_qp_.empty()) text += "tester qp" + tester_qp_ + "\n";
    text += "\n";
    for (const std::string& line : body_) {
        if (line == "\n") {
            if (!text.ends_with("\n\n")) text += line;
        } else if (!line.empty()) {
            text += line + "\n";
        }
    }
    return text;
}

std::string ids(std::uint64_t first, std::uint64_t last) {
    return first == last ? fmt::format("id={}", first) : fmt::format("id={}..{}", first, last);
}

std::string flags_of(const wire::Bth& bth, bool ack_request) {
    return std::string(bth.solicited ? " se" : "") + (ack_request ? " ackreq" : "");
}

std::string hex(const std::vector<std::byte>& bytes) {
    std::string text = "hex\"";
    for (const std::byte byte : bytes)
        text += fmt::format("{:02X}", std::to_integer<unsigned>(byte));
    return text + "\"";
}

bool answered_empty(const wire::OpcodeInfo& info) {
    return info.operation == wire::Operation::Flush ||
           info.operation == wire::Operation::AtomicWrite;
}

bool answered_in_turn(const wire::OpcodeInfo& info) {
    return info.operation == wire::Operation::RdmaReadRequest ||
           info.headers.has(wire::Header::AtomicEth) || answered_empty(info);
}

void need_for(const wire::OpcodeInfo& info, Draft& draft) {
    if (info.invalidates()) draft.need("send_inv");
    if (info.operation == wire::Operation::Flush) draft.need("flush");
    if (info.operation == wire::Operation::AtomicWrite) draft.need("atomic_write");
}

std::string unspeakable(const Event& event) {
    using enum wire::Operation;
    const wire::OpcodeInfo& info = event.info();
    // EXT-03: 1 is global visibility, what any memory can; 0 and 1 are a range and the whole
    // region.
    const wire::Feth& feth = event.packet.feth;
    if (info.operation == Flush && (feth.placement != 1 || feth.selectivity > 1)) {
        return fmt::format("a FLUSH with placement {}, selectivity {} (frame {}) is not imported",
                           feth.placement, feth.selectivity, event.number);
    }
    switch (info.operation) {
    case Send:
    case RdmaWrite:
    case RdmaReadRequest:
    case CompareSwap:
    case FetchAdd:
    case Flush:
    case AtomicWrite: return {};
    case RdmaReadResponse:
    case Acknowledge:
    case AtomicAcknowledge:
    case Resync:
    case Cnp:
    case Reserved: break;
    }
    return fmt::format("{} (frame {}) is not imported", info.title, event.number);
}

void describe(const Exchange& exchange, Draft& draft) {
    const Conversation& conversation = *exchange.conversation;
    const FoundEnd& asking = conversation.connection.ends[exchange.asking];
    draft.remark(conversation.connection.text());
    if (!exchange.mtu_known) {
        draft.remark(fmt::format("the capture does not show the path MTU; {} fits what was sent",
                                 wire::bytes_of(exchange.mtu)));
    }
    if (!asking.address.v4()) draft.dut_qp("ip=6");
    if (conversation.vlan) {
        draft.remark(fmt::format("left out: VLAN {0} (qp vlan={0})", *conversation.vlan));
    }
    const auto other = std::ranges::count_if(conversation.events, [&](const Event& event) {
        return event.asks() && event.from != exchange.asking && !event.damaged &&
               event.info().ends_message();
    });
    if (other > 0) {
        const FoundEnd& end = conversation.connection.ends[1U - exchange.asking];
        draft.remark(fmt::format("left out: {} messages of the other direction (--from {})", other,
                                 end.address.text()));
    }
    if (conversation.unused > 0) {
        draft.remark(fmt::format("left out: {} packets after the first {}", conversation.unused,
                                 kMostPackets));
    }
}

} // namespace veriroce::script_import
