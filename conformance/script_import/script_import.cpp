#include "conformance/script_import/script_import.hpp"

#include <algorithm>
#include <cassert>

#include <fmt/format.h>

#include "conformance/script/script.hpp"
#include "conformance/script_import/scripts.hpp"

namespace veriroce::script_import {
namespace {

// Bytes that this end's requests move, either way.
std::uint64_t moved_by(const Conversation& conversation, std::uint8_t end) {
    std::uint64_t bytes = 0;
    for (const Event& event : conversation.events) {
        if (event.damaged || !event.asks() || event.from != end) continue;
        const bool read = event.info().operation == wire::Operation::RdmaReadRequest;
        bytes += read ? event.packet.reth.dma_length : event.payload_bytes;
        bytes += 1; // a message of no bytes is a message
    }
    return bytes;
}

std::expected<std::uint8_t, std::string> asking_end(const Conversation& conversation,
                                                    const Choice& choice) {
    const auto& ends = conversation.connection.ends;
    const bool first = !choice.asking || ends[0].address == *choice.asking;
    const bool second = !choice.asking || ends[1].address == *choice.asking;
    // Both may be meant, also because they have one address: then it is the one that moves more.
    if (first && second) {
        return static_cast<std::uint8_t>(moved_by(conversation, 1) > moved_by(conversation, 0));
    }
    if (first || second) return static_cast<std::uint8_t>(second);
    return std::unexpected(fmt::format("{} is not an end of the connection {}",
                                       choice.asking->text(), conversation.connection.text()));
}

// A title is one line between quotes, and braces mean something in it.
std::string plain(std::string text) {
    constexpr std::size_t most = 40;
    for (char& c : text) {
        const bool usual = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                           (c >= '0' && c <= '9') || c == '.' || c == '-' || c == '_';
        if (!usual) c = '_';
    }
    return text.size() <= most ? text : text.substr(0, most);
}

} // namespace

std::expected<std::string, std::string> script_of(const Conversation& conversation,
                                                  const Choice& choice) {
    const auto asking = asking_end(conversation, choice);
    if (!asking) return std::unexpected(asking.error());
    const Exchange exchange = exchange_of(conversation, *asking, choice.messages);
    const auto& ends = conversation.connection.ends;
    if (moved_by(conversation, *asking) == 0) {
        return std::unexpected(fmt::format("{} sends no requests on the connection {}",
                                           ends[*asking].address.text(),
                                           conversation.connection.text()));
    }
    const bool tester_asks = choice.tester == Part::Requester;
    const std::string title =
        fmt::format("As in {}, the device {}", plain(choice.source),
                    tester_asks ? "answers what it is asked" : "asks, and is answered");
    auto draft = tester_asks ? responder_script(exchange, title, choice.remark)
                             : requester_script(exchange, title, choice.remark);
    if (!draft) return draft;
    if (draft->size() > script::kMaxTextBytes) {
        return std::unexpected(
            fmt::format("the script would be {} KiB long; the limit is {} KiB. Take fewer messages "
                        "(--messages)",
                        draft->size() >> 10, script::kMaxTextBytes >> 10));
    }
    auto laid_out = script::format("import.roce", *draft);
    if (!laid_out) return std::unexpected(laid_out.error().front().text("import.roce"));
    return std::move(*laid_out);
}

} // namespace veriroce::script_import
