#include "transport/inject/congestion.hpp"

#include <algorithm>
#include <charconv>
#include <map>

#include "dissector/wire/splitmix64.hpp"

namespace veriroce::inject {
namespace {

constexpr std::string_view kRed =
    "from=a|b,rate=10Gbit,min=32KiB,max=256KiB,p=0.2 with min < max and p of 0 to 1";
constexpr std::string_view kStorm =
    "to=a|b,class=0..7,quanta=0..65535,every=1ms,after=1s,for=5s with every of 10us or "
    "more and for of at most 60s";
constexpr wire::Duration kFastest = std::chrono::microseconds(10);
constexpr wire::Duration kLongestStorm = std::chrono::seconds(60);

using Words = std::map<std::string_view, std::string_view>;

// "a=1,b=2": each of `names` once, and no other.
std::optional<Words> words_of(std::string_view text,
                              std::initializer_list<std::string_view> names) {
    Words words;
    while (!text.empty()) {
        const std::string_view word = text.substr(0, text.find(','));
        text.remove_prefix(std::min(text.size(), word.size() + 1));
        const std::size_t equals = word.find('=');
        if (equals == std::string_view::npos) return std::nullopt;
        const std::string_view name = word.substr(0, equals);
        if (std::ranges::find(names, name) == names.end()) return std::nullopt;
        if (!words.emplace(name, word.substr(equals + 1)).second) return std::nullopt;
    }
    return words.size() == names.size() ? std::optional(words) : std::nullopt;
}

struct UnitValue {
    std::string_view unit;
    double value = 1;
};

// A number and one of the units; the empty unit only if it is listed. 0 or more.
std::optional<double> number_of(std::string_view text, std::initializer_list<UnitValue> units) {
    double value = 0;
    const auto [end, wrong] =
        std::from_chars(text.data(), text.data() + text.size(), value, std::chars_format::fixed);
    if (wrong != std::errc{} || !(value >= 0)) return std::nullopt;
    const std::string_view unit(end, static_cast<std::size_t>(text.data() + text.size() - end));
    const auto* const found = std::ranges::find(units, unit, &UnitValue::unit);
    if (found == units.end() || value * found->value > 1e15) return std::nullopt;
    return value * found->value;
}

std::optional<fault::End> end_of(std::string_view text) {
    if (text == "a") return fault::End::A;
    if (text == "b") return fault::End::B;
    return std::nullopt;
}

std::optional<double> bytes_of(std::string_view text) {
    return number_of(text, {{"", 1}, {"KiB", 1'024}, {"MiB", 1'048'576}});
}

std::optional<wire::Duration> time_of(std::string_view text) {
    const auto ns = number_of(text, {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}});
    if (!ns) return std::nullopt;
    return wire::Duration(static_cast<std::int64_t>(*ns));
}

} // namespace

std::expected<RedOptions, std::string> parse_red(std::string_view text) {
    const std::unexpected wrong{std::string(kRed)};
    auto words = words_of(text, {"from", "rate", "min", "max", "p"});
    if (!words) return wrong;
    const auto from = end_of((*words)["from"]);
    const auto rate = number_of((*words)["rate"], {{"Mbit", 1e6}, {"Gbit", 1e9}});
    const auto min = bytes_of((*words)["min"]);
    const auto max = bytes_of((*words)["max"]);
    const auto p = number_of((*words)["p"], {{"", 1}});
    if (!from || !rate || !min || !max || !p || *rate <= 0 || *min >= *max || *p > 1) return wrong;
    return RedOptions{.from = *from,
                      .rate = *rate,
                      .min = static_cast<std::uint64_t>(*min),
                      .max = static_cast<std::uint64_t>(*max),
                      .probability = *p};
}

std::expected<StormOptions, std::string> parse_storm(std::string_view text) {
    const std::unexpected wrong{std::string(kStorm)};
    auto words = words_of(text, {"to", "class", "quanta", "every", "after", "for"});
    if (!words) return wrong;
    const auto to = end_of((*words)["to"]);
    const auto priority = number_of((*words)["class"], {{"", 1}});
    const auto quanta = number_of((*words)["quanta"], {{"", 1}});
    const auto every = time_of((*words)["every"]);
    const auto after = time_of((*words)["after"]);
    const auto lasts = time_of((*words)["for"]);
    if (!to || !priority || !quanta || !every || !after || !lasts || *priority > 7 ||
        *quanta > 65'535 || *every < kFastest || *lasts > kLongestStorm) {
        return wrong;
    }
    return StormOptions{.to = *to,
                        .pause = {.priority = static_cast<std::uint8_t>(*priority),
                                  .quanta = static_cast<std::uint16_t>(*quanta)},
                        .every = *every,
                        .after = *after,
                        .lasts = *lasts};
}

bool VirtualQueue::marks(std::size_t bytes, wire::Instant now) {
    if (last_) {
        const double seconds = std::chrono::duration<double>(now - *last_).count();
        bytes_ = std::max(0.0, bytes_ - options_.rate * seconds / 8);
    }
    last_ = now;
    bytes_ += static_cast<double>(bytes);
    longest_ = std::max(longest_, bytes_);
    const auto min = static_cast<double>(options_.min);
    const auto max = static_cast<double>(options_.max);
    if (bytes_ <= min) return false;
    if (bytes_ > max) return true;
    const double p = options_.probability * (bytes_ - min) / (max - min);
    return static_cast<double>(wire::splitmix64(random_) >> 11U) * 0x1.0p-53 < p;
}

} // namespace veriroce::inject
