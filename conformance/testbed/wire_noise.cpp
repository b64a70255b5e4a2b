#include "conformance/testbed/wire_noise.hpp"

#include <array>
#include <charconv>
#include <utility>

#include <fmt/format.h>

#include "dissector/wire/nearest_word.hpp"

namespace veriroce::testbed {
namespace {

struct Kind {
    std::string_view name;
    double WireNoise::* share;
};
constexpr std::array kKinds{
    Kind{"loss", &WireNoise::loss}, Kind{"duplicate", &WireNoise::duplicate},
    Kind{"reorder", &WireNoise::reorder}, Kind{"corrupt", &WireNoise::corrupt}};
constexpr std::array<std::string_view, 4> kNames{"loss", "duplicate", "reorder", "corrupt"};

// Ethernet with its checksum drops a packet whose headers a wire damaged. Behind them a switch may
// do it.
constexpr std::size_t kFirstDamaged = 14 + 20;

std::expected<double, std::string> share_of(std::string_view text) {
    double percent = 0;
    const std::string_view number = text.substr(0, text.find('%'));
    const auto [end, error] =
        std::from_chars(number.data(), number.data() + number.size(), percent);
    const bool whole = error == std::errc() && end == number.data() + number.size();
    if (!whole || !text.ends_with('%') || !(percent >= 0 && percent <= 100)) {
        return std::unexpected(fmt::format("expected a share such as 0.2%, got '{}'", text));
    }
    return percent / 100;
}

} // namespace

std::expected<WireNoise, std::string> parse_noise(std::string_view text) {
    WireNoise noise;
    while (!text.empty()) {
        const std::string_view item = text.substr(0, text.find(','));
        text.remove_prefix(std::min(item.size() + 1, text.size()));
        const std::string_view name = item.substr(0, item.find('='));
        const Kind* found = nullptr;
        for (const Kind& kind : kKinds) {
            if (kind.name == name) found = &kind;
        }
        if (found == nullptr) {
            const auto near = wire::nearest_word(name, kNames);
            return std::unexpected(
                fmt::format("unknown kind of noise '{}'; {}", name,
                            near ? fmt::format("did you mean '{}'?", *near)
                                 : "there are loss, duplicate, reorder and corrupt"));
        }
        const auto share = share_of(item.substr(std::min(name.size() + 1, item.size())));
        if (!share) return std::unexpected(fmt::format("{}: {}", name, share.error()));
        noise.*(found->share) = *share;
    }
    if (!noise.any()) return std::unexpected("expected a share above 0, such as loss=0.2%");
    return noise;
}

// One draw for each question, so that a kind that is off changes nothing for the others.
bool NoisyWire::happens(double share) {
    return std::uniform_real_distribution(0.0, 1.0)(random_) < share;
}

wire::Duration NoisyWire::some_delay() {
    return wire::Duration(
        std::uniform_int_distribution<wire::Duration::rep>(1, kMostNoiseDelay.count())(random_));
}

void NoisyWire::damage(std::vector<std::byte>& frame) {
    if (frame.size() <= kFirstDamaged) return;
    const std::size_t at =
        std::uniform_int_distribution<std::size_t>(kFirstDamaged, frame.size() - 1)(random_);
    const auto bit = std::uniform_int_distribution<unsigned>(0, 7)(random_);
    frame[at] ^= static_cast<std::byte>(1U << bit);
}

std::vector<NoisyWire::Arriving> NoisyWire::pass(wire::Bytes frame) {
    const bool lost = happens(noise_.loss);
    const bool doubled = happens(noise_.duplicate);
    const bool late = happens(noise_.reorder);
    const bool damaged = happens(noise_.corrupt);
    std::vector<Arriving> arriving;
    if (lost) return arriving;
    Arriving one{.frame = {frame.begin(), frame.end()}};
    if (late) one.delay = some_delay();
    if (damaged) damage(one.frame);
    arriving.push_back(one);
    if (doubled) {
        one.delay += some_delay();
        arriving.push_back(std::move(one));
    }
    return arriving;
}

} // namespace veriroce::testbed
