// The report for people.
#include "dissector/analyze/report.hpp"

#include <algorithm>
#include <tuple>

#include <fmt/format.h>

#include "dissector/analyze/explain.hpp"
#include "dissector/analyze/put.hpp"

namespace veriroce::analyze {
namespace {

constexpr std::size_t kColumns = 96;

wire::Duration time_lost(const Conversation& conversation) {
    return conversation.directions[0].time_lost() + conversation.directions[1].time_lost();
}

std::uint64_t resent(const Conversation& conversation) {
    return conversation.directions[0].all_resent() + conversation.directions[1].all_resent();
}

double goodput(const Conversation& conversation) {
    return conversation.directions[0].goodput().value_or(0) +
           conversation.directions[1].goodput().value_or(0);
}

// Breaks lines at spaces. The first line ends where `begin` says, the others are indented.
void put_wrapped(std::string& out, std::string_view begin, std::string_view text) {
    constexpr std::string_view kIndent = "    ";
    out += begin;
    std::size_t column = begin.size();
    bool first = true;
    while (!text.empty()) {
        const std::size_t space = std::min(text.find(' '), text.size());
        if (!first && column + 1 + space > kColumns) {
            out += '\n';
            out += kIndent;
            column = kIndent.size();
            first = true;
        }
        if (!first) out += ' ';
        column += space + (first ? 0 : 1);
        first = false;
        out += text.substr(0, space);
        text.remove_prefix(std::min(space + 1, text.size()));
    }
    out += '\n';
}

void put_paragraph(std::string& out, std::string_view text) {
    if (!text.empty()) put_wrapped(out, "    ", text);
}

std::string ends_of(const Conversation& conversation) {
    return text_of(conversation.ends[0]) + " <-> " + text_of(conversation.ends[1]);
}

std::string service_text(const Conversation& conversation) {
    std::string text = conversation.service == wire::Service::Uc ? "UC" : "RC";
    switch (conversation.pairing) {
    case flow::Pairing::None: text += ", one direction"; break;
    case flow::Pairing::Inferred: text += ", paired by PSNs"; break;
    case flow::Pairing::Known: text += ", set up by CM"; break;
    }
    if (conversation.mtu) put(text, ", MTU {}", wire::bytes_of(*conversation.mtu));
    return text;
}

void put_totals(std::string& out, const Report& report) {
    const Totals& totals = *report.totals;
    wire::Duration time{0};
    if (totals.begin) time = *totals.end - *totals.begin;
    put(out, "{} frames, {} RoCEv2 packets with {} of payload, in {}\n", totals.frames,
        totals.packets, bytes_text(static_cast<double>(totals.payload_bytes)), time_text(time));
    const auto unhealthy = std::ranges::count_if(
        report.connections, [](const Reported& one) { return !one.health.healthy(); });
    put(out, "{} connection{}, {} unhealthy", report.connections.size(),
        report.connections.size() == 1 ? "" : "s", unhealthy);
    const auto more = [&out](std::uint64_t count, std::string_view what) {
        if (count > 0) put(out, "; {} {}", count, what);
    };
    more(totals.datagrams, "datagrams");
    more(totals.notifications, "CNPs");
    more(totals.pauses, "PAUSE frames");
    more(totals.priority_pauses, "PFC frames");
    more(totals.other_transport, "packets of RoCE v1 or InfiniBand (not analysed)");
    more(totals.incomplete, "packets without all headers (not analysed)");
    more(totals.fragmented, "RoCEv2 packets in IP fragments (not analysed)");
    more(totals.later_fragments, "IP fragments without headers (not analysed)");
    more(totals.conversations_not_kept, "connections beyond the limit (not analysed)");
    more(totals.evicted, "connections forgotten to make room");
    out += '\n';
}

void put_losses(std::string& out, const Report& report) {
    std::array<std::uint64_t, kVerdicts> missed{};
    std::uint64_t not_captured = 0;
    std::uint64_t undecided = 0;
    for (const Reported& one : report.connections) {
        for (const Direction& facts : one.conversation->directions) {
            for (std::size_t i = 0; i < kVerdicts; ++i)
                missed[i] += facts.missed(static_cast<Verdict>(i));
            not_captured += facts.not_captured();
            undecided += facts.undecided;
        }
    }
    std::string network;
    std::uint64_t all = 0;
    for (std::size_t i = kVerdicts; i-- > 0;) {
        if (missed[i] == 0) continue;
        put(network, "{}{} {}", all == 0 ? "" : ", ", missed[i],
            static_cast<Verdict>(i) == Verdict::Behind ? "lost or overtaken after the capture point"
                                                       : name_of(static_cast<Verdict>(i)));
        all += missed[i];
    }
    if (all == 0) network += "no receiver missed a packet";
    put(network, "; damaged packets seen: {}", report.totals->damaged);
    put_wrapped(out, "network: ", network);
    put(out, "capture: lacks {} packets that arrived", not_captured);
    if (undecided > 0)
        put(out, "; {} more are missing, lost by the capture or the network", undecided);
    out += '\n';
    for (const Refusal& refusal : report.totals->refusals) {
        put_wrapped(out, "refused: ",
                    fmt::format("{} asked {} for service 0x{:x} (packet {}) and got the CM reject "
                                "reason {} (packet {})",
                                refusal.client.text(), refusal.server.text(), refusal.service_id,
                                refusal.request_number, refusal.reason, refusal.reject_number));
    }
}

void put_talkers(std::string& out, const Report& report, std::size_t top) {
    std::vector<const Conversation*> talkers;
    for (const Reported& one : report.connections)
        talkers.push_back(one.conversation);
    std::ranges::stable_sort(talkers, std::ranges::greater{}, &Conversation::bytes);
    out += "\nTop talkers\n";
    put(out, "{:>12} {:>10} {:>10} {:>13} {:>8}  {}\n", "payload", "packets", "messages", "goodput",
        "again", "connection");
    for (std::size_t i = 0; i < std::min(top, talkers.size()); ++i) {
        const Conversation& one = *talkers[i];
        const std::uint64_t messages =
            one.directions[0].finished_messages() + one.directions[1].finished_messages();
        put(out, "{:>12} {:>10} {:>10} {:>13} {:>8}  #{}\n",
            bytes_text(static_cast<double>(one.bytes())), one.packets(), messages,
            messages > 0 ? rate_text(goodput(one)) : "-", resent(one), one.id);
    }
    if (talkers.size() > top) put(out, "and {} more\n", talkers.size() - top);
}

void put_messages(std::string& out, const Conversation& conversation) {
    bool any = false;
    for (std::size_t end = 0; end < 2; ++end) {
        for (std::size_t i = 0; i < kMessageKinds; ++i) {
            const auto& counts = conversation.directions[end].messages[i];
            if (!counts) continue;
            if (!any) {
                put(out, "    {:<13} {:<5} {:>8} {:>9} {:>9} | {:>9} {:>9} {:>9} {:>9}\n",
                    "messages", "from", "count", "size p50", "max", "time p50", "p90", "p99",
                    "max");
            }
            any = true;
            const auto size = [&](std::uint64_t bytes) {
                return bytes_text(static_cast<double>(bytes));
            };
            const Histogram& times = counts->latencies;
            const auto time = [&](double part) {
                if (times.count() == 0) return std::string("?");
                return time_text(wire::Duration(static_cast<std::int64_t>(times.quantile(part))));
            };
            put(out, "    {:<13} {:<5} {:>8} {:>9} {:>9} | {:>9} {:>9} {:>9} {:>9}\n",
                name_of(static_cast<MessageKind>(i)), end == 0 ? "left" : "right", counts->messages,
                size(counts->sizes.low_quantile(0.5)), size(counts->sizes.most()), time(0.5),
                time(0.9), time(0.99), time(1));
        }
    }
}

// Bytes over time as a line of bars.
std::string bars_of(const TimeSeries& series) {
    constexpr std::array<std::string_view, 9> kBars{" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    std::uint64_t most = 1;
    for (std::size_t i = 0; i < series.size(); ++i)
        most = std::max(most, series[i]);
    std::string text;
    for (std::size_t i = 0; i < series.size(); ++i) {
        const std::uint64_t eighths = (series[i] * 8 + most - 1) / most;
        text += kBars[static_cast<std::size_t>(eighths)];
    }
    return text;
}

void put_direction(std::string& out, const Direction& facts, std::string_view from) {
    if (facts.packets() == 0) return;
    std::string again;
    constexpr std::array<std::string_view, kCauses> kWhy{"without a visible cause", "after NAK",
                                                         "after RNR NAK", "after an implied NAK",
                                                         "after a timeout"};
    bool any = false;
    for (std::size_t i = 0; i < kCauses; ++i) {
        if (facts.resent[i] == 0) continue;
        put(again, "{}{} {}", any ? ", " : "", facts.resent[i], kWhy[i]);
        any = true;
    }
    put_paragraph(out, fmt::format("from the {}: {} requests, {} responses; again: {}; copies {}, "
                                   "late {}",
                                   from, facts.request_packets, facts.response_packets,
                                   any ? again : "none", facts.copies, facts.reordered));
    if (facts.outstanding_samples > 0) {
        put(out, "        outstanding PSNs: {} at most, {:.1f} on average", facts.most_outstanding,
            static_cast<double>(facts.outstanding_sum) /
                static_cast<double>(facts.outstanding_samples));
        if (facts.acks > 0) {
            put(out, "; each ACK acknowledges {:.1f}",
                static_cast<double>(facts.acknowledged) / static_cast<double>(facts.acks));
        }
        out += '\n';
    }
    if (!facts.requested.empty() && facts.requested.size() > 1) {
        std::uint64_t most = 0;
        for (std::size_t i = 0; i < facts.requested.size(); ++i)
            most = std::max(most, facts.requested[i]);
        const std::chrono::duration<double> part = facts.requested.part();
        put(out, "        throughput: [{}] up to {} in {}\n", bars_of(facts.requested),
            rate_text(static_cast<double>(most) / part.count()), time_text(facts.requested.part()));
    }
    for (std::size_t i = 0; i < kDoings; ++i) {
        const TimeSpent& spent = facts.spent[i];
        if (spent.sum.count() == 0) continue;
        put(out, "        {:<10} {:>9}, longest {} (until packet {})\n",
            name_of(static_cast<Doing>(i)), time_text(spent.sum), time_text(spent.longest),
            spent.longest_number);
    }
}

void put_episodes(std::string& out, const Conversation& conversation, std::size_t most) {
    if (conversation.episodes.empty()) return;
    put(out, "    {:<13} {:<10} {:<5} {:>8} {:>8} {:>8} {:>8} {:>6} {:>9} {:>8}\n", "episode",
        "verdict", "from", "PSN", "packet", "NAK", "again", "(n)", "over", "took");
    const auto packet = [](std::uint64_t number) {
        return number == 0 ? std::string("-") : fmt::to_string(number);
    };
    const std::size_t shown = std::min(most, conversation.episodes.size());
    for (std::size_t i = 0; i < shown; ++i) {
        const Episode& one = conversation.episodes[i];
        const auto took = one.duration();
        put(out, "    {:<13} {:<10} {:<5} {:>8} {:>8} {:>8} {:>8} {:>6} {:>9} {:>8}\n",
            name_of(one.kind), name_of(one.verdict), one.requester == 0 ? "left" : "right",
            one.psn.value(), packet(one.begin_number), packet(one.nak_number),
            packet(one.resent_number), one.resent,
            one.recovered ? packet(one.end_number) : "not over", took ? time_text(*took) : "?");
    }
    const std::uint64_t more = conversation.more_episodes + conversation.episodes.size() - shown;
    if (more > 0) put(out, "    and {} more episodes\n", more);
}

void put_setup(std::string& out, const Setup& setup) {
    std::string text =
        fmt::format("CM: request {}, reply {}", setup.request_number, setup.reply_number);
    if (setup.took) put(text, " after {}", time_text(*setup.took));
    if (setup.disconnect_number != 0) put(text, ", disconnect {}", setup.disconnect_number);
    put(text, "; retries {}, RNR retries {}, READs {} and {}", setup.retry_count,
        setup.rnr_retry_count, setup.initiator_depth, setup.responder_resources);
    if (setup.ack_timeout) put(text, ", ACK timeout code {}", *setup.ack_timeout);
    put_paragraph(out, text);
}

void put_connection(std::string& out, const Report& report, const Reported& one, bool details) {
    const Conversation& conversation = *one.conversation;
    put(out, "#{} {}\n    {}; {}\n", conversation.id, ends_of(conversation),
        service_text(conversation),
        one.health.died()      ? "DIED"
        : one.health.healthy() ? "healthy"
                               : "UNHEALTHY");
    put_messages(out, conversation);
    for (const std::string& problem : one.health.problems)
        put_paragraph(out, "! " + problem);
    put_paragraph(out, explain(conversation, one.health, report.totals->end));
    if (!details) return;
    if (conversation.setup) put_setup(out, *conversation.setup);
    put_direction(out, conversation.directions[0], "left");
    put_direction(out, conversation.directions[1], "right");
    for (std::size_t end = 0; end < 2; ++end) {
        const Endpoint& facts = conversation.ends[end];
        if (facts.congestion_marks + facts.notifications == 0) continue;
        put(out, "    the {} sent {} packets that came marked CE, and {} CNPs\n",
            end == 0 ? "left" : "right", facts.congestion_marks, facts.notifications);
    }
    constexpr std::size_t kMostListed = 20;
    put_episodes(out, conversation, kMostListed);
}

} // namespace

bool Report::healthy() const {
    return totals->refusals.empty() && std::ranges::all_of(connections, [](const Reported& one) {
               return one.health.healthy();
           });
}

Report report_of(const Analyzer& analyzer, const Thresholds& thresholds) {
    return report_of(analyzer.conversations(), analyzer.totals(), thresholds);
}

Report report_of(std::span<const Conversation* const> conversations, const Totals& totals,
                 const Thresholds& thresholds) {
    Report report{.totals = &totals, .connections = {}};
    for (const Conversation* conversation : conversations) {
        report.connections.push_back(
            {conversation, health_of(*conversation, thresholds, report.totals->end)});
    }
    const auto badness = [](const Reported& one) {
        return std::tuple(one.health.died(), !one.health.healthy(), time_lost(*one.conversation),
                          resent(*one.conversation), one.conversation->bytes());
    };
    std::ranges::stable_sort(report.connections, [&](const Reported& a, const Reported& b) {
        return badness(a) > badness(b);
    });
    return report;
}

void append_text(std::string& out, const Report& report, const TextOptions& options) {
    if (options.connection) {
        for (const Reported& one : report.connections) {
            if (one.conversation->id == *options.connection) {
                put_connection(out, report, one, true);
            }
        }
        return;
    }
    put_totals(out, report);
    put_losses(out, report);
    if (report.connections.empty()) return;
    put_talkers(out, report, options.top);
    put(out, "\nConnections, the worst first\n");
    const std::size_t shown = std::min(options.top, report.connections.size());
    for (std::size_t i = 0; i < shown; ++i)
        put_connection(out, report, report.connections[i], options.details);
    if (report.connections.size() > shown) {
        put(out, "and {} more (--top N shows N)\n", report.connections.size() - shown);
    }
}

} // namespace veriroce::analyze
