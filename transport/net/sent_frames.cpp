#include "transport/net/sent_frames.hpp"

#include <algorithm>
#include <chrono>
#include <functional>
#include <string_view>

namespace veriroce::net {

namespace {

constexpr std::size_t kRemembered = 4096;
constexpr auto kReflectedWithin = std::chrono::seconds(1);

std::size_t hash_of(wire::Bytes frame) {
    const auto* text = reinterpret_cast<const char*>(frame.data());
    return std::hash<std::string_view>{}({text, frame.size()});
}

} // namespace

Sent SentFrames::add(wire::Bytes frame, wire::Interval when) {
    const Sent sent{++last_, when};
    entries_.push_back({sent, frame.size(), hash_of(frame)});
    if (entries_.size() > kRemembered) entries_.pop_front();
    return sent;
}

std::optional<Sent> SentFrames::take(wire::Bytes frame, wire::Instant stamp) {
    while (!entries_.empty() && entries_.front().sent.when.latest + kReflectedWithin < stamp)
        entries_.pop_front();
    const auto hash = hash_of(frame);
    const auto found = std::ranges::find_if(entries_, [&frame, hash](const Entry& entry) {
        return entry.bytes == frame.size() && entry.hash == hash;
    });
    if (found == entries_.end()) return std::nullopt;
    const auto sent = found->sent;
    entries_.erase(found);
    return sent;
}

} // namespace veriroce::net
