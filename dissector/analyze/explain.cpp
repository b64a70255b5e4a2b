#include "dissector/analyze/explain.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "dissector/wire/ip_address.hpp"

namespace veriroce::analyze {
namespace {

std::string scaled(double value, std::string_view unit) {
    constexpr std::array<std::string_view, 6> kPrefixes{"", "k", "M", "G", "T", "P"};
    std::size_t prefix = 0;
    while (value >= 999.5 && prefix + 1 < kPrefixes.size()) {
        value /= 1000;
        ++prefix;
    }
    return fmt::format("{:.3g} {}{}", value, kPrefixes[prefix], unit);
}

double part_of(wire::Duration part, wire::Duration all) {
    return 100 * static_cast<double>(part.count()) / static_cast<double>(all.count());
}

std::string counted(std::uint64_t count, std::string_view one) {
    return fmt::format("{} {}{}", count, one, count == 1 ? "" : "s");
}

// The sentences about one direction.
class Story {
  public:
    Story(const Conversation& conversation, std::size_t requester, Ending ending,
          std::optional<wire::Instant> end)
        : conversation_(conversation), requester_(requester),
          facts_(conversation.directions[requester]), ending_(ending), end_(end),
          asks_(conversation.ends[requester].address.text()),
          answers_(conversation.ends[1 - requester].address.text()) {}

    std::string tell() {
        ended();
        missed();
        responses_missed();
        rnr();
        timeouts();
        resent();
        copies();
        not_captured();
        held_back();
        return std::move(text_);
    }

  private:
    template <typename... Args>
    void say(fmt::format_string<Args...> format, Args&&... args) {
        if (!text_.empty()) text_ += ' ';
        fmt::format_to(std::back_inserter(text_), format, std::forward<Args>(args)...);
    }

    [[nodiscard]] const Episode* first_of(EpisodeKind kind) const {
        for (const Episode& episode : conversation_.episodes) {
            if (episode.kind == kind && episode.requester == requester_) return &episode;
        }
        return nullptr;
    }
    [[nodiscard]] wire::Duration spent(Doing doing) const {
        return facts_.spent[static_cast<std::size_t>(doing)].sum;
    }
    [[nodiscard]] std::string quiet() const {
        if (!end_ || !facts_.last_time || *end_ == *facts_.last_time) return "with it";
        return time_text(*end_ - *facts_.last_time) + " later";
    }

    void ended() {
        if (!facts_.open) {
            if (ending_ == Ending::Outstanding) {
                say("The capture ends {} PSNs before all requests of {} are answered (packet {} is "
                    "the last, {} before the end).",
                    facts_.outstanding, asks_, facts_.last_number,
                    end_ && facts_.last_time ? time_text(*end_ - *facts_.last_time) : "?");
            }
            return;
        }
        const Episode& last = *facts_.open;
        if (last.kind == EpisodeKind::FatalNak) {
            say("{} refused the request with PSN {}{} with the NAK {} (packet {}), which ends the "
                "connection.",
                answers_, last.psn.value(),
                last.begin_number != 0 ? fmt::format(" (packet {})", last.begin_number) : "",
                title_of(wire::Syndrome{last.syndrome}), last.nak_number);
            return;
        }
        const std::string tries = last.naks > 0
                                      ? fmt::format("{} and {}", counted(last.naks, "NAK"),
                                                    counted(last.timeouts, "timeout"))
                                      : counted(last.timeouts, "timeout");
        say("PSN {} of {} is never answered: after {} (first sent again in packet {}) the last "
            "packet is {}.",
            last.psn.value(), asks_, tries, last.resent_number, facts_.last_number);
        if (ending_ == Ending::GaveUp) {
            say("It gave up: the capture goes on, and ends {}.", quiet());
        } else {
            say("The capture ends {}: whether it gave up cannot be told.", quiet());
        }
    }

    void missed() {
        std::uint64_t all = 0;
        for (const std::uint64_t count : facts_.requests_missed)
            all += count;
        if (all == 0) return;
        const Episode* const first = first_of(EpisodeKind::SequenceNak);
        say("{} missed {} and said so with {}{}: {}.", answers_, counted(all, "packet"),
            facts_.sequence_naks == 1 ? "a NAK" : counted(facts_.sequence_naks, "NAK"),
            first != nullptr ? fmt::format(" (the first is packet {})", first->nak_number) : "",
            verdicts(facts_.requests_missed));
        if (first == nullptr) return;
        const auto detection = first->detection();
        const auto reaction = first->reaction();
        if (detection && reaction) {
            say("The first NAK came {} after the packet that showed the gap (packet {}), and the "
                "first packet sent again {} after the NAK (packet {}).",
                time_text(*detection), first->begin_number, time_text(*reaction),
                first->resent_number);
        }
    }

    static std::string verdicts(const std::array<std::uint64_t, kVerdicts>& counts) {
        constexpr std::array<std::string_view, kVerdicts> kTexts{
            "{} for a reason that the packets do not show", "{} damaged (wrong ICRC)",
            "{} lost before the capture point", "{} overtaken by later packets",
            "{} lost, damaged or overtaken after the capture point"};
        std::string text;
        for (std::size_t i = kVerdicts; i-- > 0;) {
            if (counts[i] == 0) continue;
            if (!text.empty()) text += ", ";
            text += fmt::format(fmt::runtime(kTexts[i]), counts[i]);
        }
        return text;
    }

    void responses_missed() {
        std::uint64_t all = 0;
        for (const std::uint64_t count : facts_.responses_missed)
            all += count;
        if (all == 0) return;
        const Episode* const first = first_of(EpisodeKind::ImpliedNak);
        say("{} missed READ responses {} and asked again{}: {}.", asks_,
            all == 1 ? "once" : fmt::format("{} times", all),
            first != nullptr ? fmt::format(" (first in packet {})", first->resent_number) : "",
            verdicts(facts_.responses_missed));
    }

    void rnr() {
        if (facts_.rnr_naks == 0) return;
        const Episode* const first = first_of(EpisodeKind::RnrNak);
        say("{} had no receive posted {}{}: {} waited {} in all.", answers_,
            facts_.rnr_naks == 1 ? "once" : fmt::format("{} times", facts_.rnr_naks),
            first != nullptr
                ? fmt::format(" (first RNR NAK: packet {}, which asks for {})", first->nak_number,
                              time_text(wire::rnr_time(wire::Syndrome{first->syndrome}.code())))
                : "",
            asks_, time_text(spent(Doing::RnrWait)));
    }

    void timeouts() {
        if (facts_.timeouts == 0) return;
        const Episode* const first = first_of(EpisodeKind::Timeout);
        say("{} waited for an answer in vain {}{}, {} in all{}.", asks_,
            facts_.timeouts == 1 ? "once" : fmt::format("{} times", facts_.timeouts),
            first != nullptr ? fmt::format(" (first sent again in packet {})", first->resent_number)
                             : "",
            time_text(spent(Doing::Timeout)),
            facts_.timeouts_in_a_row > 1
                ? fmt::format("; {} in a row for one PSN", facts_.timeouts_in_a_row)
                : "");
        if (facts_.not_captured() > 0) say("The capture may lack NAKs that explain some of them.");
        if (!facts_.timer) return;
        const auto codes = timeout_codes(*facts_.timer);
        say("Between two tries of one PSN it waited {} at least{}.", time_text(*facts_.timer),
            codes ? fmt::format(" (ACK timeout code {} to {})", codes->least, codes->most) : "");
    }

    void resent() {
        if (facts_.all_resent() == 0) return;
        say("{} sent {} of {} request packets again ({:.3g} %, {}).", asks_, facts_.all_resent(),
            facts_.request_packets, 100 * facts_.resent_part(),
            bytes_text(static_cast<double>(facts_.resent_bytes)));
        if (facts_.resent_after_ack > 0) {
            say("{} of them had been acknowledged at the capture point: the ACK was lost behind "
                "it, "
                "or came too late.",
                facts_.resent_after_ack);
        }
    }

    void copies() {
        if (facts_.copies == 0) return;
        const bool many = facts_.copies * 3 >= facts_.request_packets;
        say("{} came twice without a cause that the capture shows{}.",
            counted(facts_.copies, "request"),
            many ? ": the capture seems to record packets at two points" : "");
    }

    void not_captured() {
        if (facts_.not_captured() > 0) {
            say("The capture lacks {} that {}: they are no losses of the network.",
                counted(facts_.not_captured(), "packet"),
                facts_.responses_not_captured == 0 ? "were acknowledged"
                                                   : "were acknowledged or not asked for again");
        }
        if (facts_.undecided > 0) {
            say("Whether the network or the capture lost {} more cannot be told.",
                facts_.undecided);
        }
    }

    // The largest parts of the time in which something was outstanding.
    void held_back() {
        if (conversation_.service != wire::Service::Rc) return;
        wire::Duration all{0};
        for (const TimeSpent& spent : facts_.spent)
            all += spent.sum;
        if (all <= wire::Duration{0}) return;
        constexpr std::array<std::string_view, kDoings> kTexts{"nothing was outstanding",
                                                               "{} sent or paused",
                                                               "it waited for {}",
                                                               "{} had no receive",
                                                               "between a NAK and the reaction",
                                                               "it sent again",
                                                               "it waited in vain"};
        std::array<std::size_t, kDoings> order{};
        for (std::size_t i = 0; i < kDoings; ++i)
            order[i] = i;
        std::ranges::sort(order, [&](std::size_t a, std::size_t b) {
            return facts_.spent[a].sum > facts_.spent[b].sum;
        });
        std::string parts;
        for (const std::size_t doing : order) {
            const double percent = part_of(facts_.spent[doing].sum, all);
            if (percent < 0.5) break;
            const bool requester = static_cast<Doing>(doing) == Doing::Sending;
            fmt::format_to(std::back_inserter(parts), "{}{:.0f} % {}", parts.empty() ? "" : ", ",
                           percent,
                           fmt::format(fmt::runtime(kTexts[doing]), requester ? asks_ : answers_));
        }
        say("Of the {} of requests of {}: {}.", time_text(all), asks_, parts);
    }

    const Conversation& conversation_;
    std::size_t requester_;
    const Direction& facts_;
    Ending ending_;
    std::optional<wire::Instant> end_;
    std::string asks_;
    std::string answers_;
    std::string text_;
};

} // namespace

std::string_view title_of(wire::Syndrome syndrome) {
    if (syndrome.kind() == wire::AckKind::RnrNak) return "Receiver Not Ready";
    const auto code = syndrome.nak_code();
    if (!code) return "reserved code";
    switch (*code) {
    case wire::NakCode::PsnSequence: return "PSN Sequence Error";
    case wire::NakCode::InvalidRequest: return "Invalid Request";
    case wire::NakCode::RemoteAccess: return "Remote Access Error";
    case wire::NakCode::RemoteOperational: return "Remote Operational Error";
    case wire::NakCode::InvalidRdRequest: return "Invalid RD Request";
    }
    return {};
}

std::string text_of(const Endpoint& end) {
    if (!end.qpn) return end.address.text() + " QP ?";
    return fmt::format("{} QP 0x{:06x}", end.address.text(), end.qpn->value);
}

std::string bytes_text(double bytes) {
    return scaled(bytes, "B");
}

std::string rate_text(double bytes_per_second) {
    return scaled(bytes_per_second * 8, "bit/s");
}

std::string time_text(wire::Duration time) {
    const auto ns = static_cast<double>(time.count());
    if (ns < 999.5) return fmt::format("{:.3g} ns", ns);
    if (ns < 999.5e3) return fmt::format("{:.3g} us", ns / 1e3);
    if (ns < 999.5e6) return fmt::format("{:.3g} ms", ns / 1e6);
    return ns < 999.5e9 ? fmt::format("{:.3g} s", ns / 1e9) : fmt::format("{:.0f} s", ns / 1e9);
}

std::string explain(const Conversation& conversation, const Health& health,
                    std::optional<wire::Instant> end) {
    std::string text;
    for (std::size_t requester = 0; requester < 2; ++requester) {
        if (conversation.directions[requester].packets() == 0) continue;
        const std::string part =
            Story(conversation, requester, health.endings[requester], end).tell();
        if (!text.empty() && !part.empty()) text += ' ';
        text += part;
    }
    if (conversation.setup && conversation.setup->disconnect_number != 0) {
        text += fmt::format("{}CM closed the connection (packet {}).", text.empty() ? "" : " ",
                            conversation.setup->disconnect_number);
    }
    if (conversation.unpaired_responses > 0) {
        text += fmt::format("{}Of {} the capture lacks the request.", text.empty() ? "" : " ",
                            counted(conversation.unpaired_responses, "response"));
    }
    return text;
}

} // namespace veriroce::analyze
