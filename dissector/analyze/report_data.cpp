// The report for programs: JSON, JSON lines and CSV.
#include <fmt/format.h>

#include "dissector/analyze/explain.hpp"
#include "dissector/analyze/json_object.hpp"
#include "dissector/analyze/put.hpp"
#include "dissector/analyze/report.hpp"

namespace veriroce::analyze {
namespace {

void put_totals(std::string& out, const Report& report, bool typed) {
    const Totals& totals = *report.totals;
    Object object(out);
    if (typed) object.text("type", "capture");
    object.number("frames", totals.frames);
    object.number("packets", totals.packets);
    object.number("payload_bytes", totals.payload_bytes);
    object.number("damaged", totals.damaged);
    object.number("datagrams", totals.datagrams);
    object.number("cnps", totals.notifications);
    object.number("pauses", totals.pauses);
    object.number("priority_pauses", totals.priority_pauses);
    object.number("incomplete", totals.incomplete);
    object.number("fragmented", totals.fragmented);
    object.number("later_fragments", totals.later_fragments);
    object.number("other_transport", totals.other_transport);
    object.number("connections", report.connections.size());
    object.number("connections_not_kept", totals.conversations_not_kept);
    object.number("connections_evicted", totals.evicted);
    object.time("begin", totals.begin);
    object.time("end", totals.end);
    object.flag("healthy", report.healthy());
}

void put_counts(std::string& out, std::string_view kind, const MessageCounts& counts) {
    Object object(out);
    object.text("kind", kind);
    object.number("messages", counts.messages);
    object.number("bytes", counts.bytes);
    object.number("size_min", counts.sizes.least());
    object.number("size_p50", counts.sizes.low_quantile(0.5));
    object.number("size_max", counts.sizes.most());
    object.number("latencies", counts.latencies.count());
    if (counts.latencies.count() == 0) return;
    object.number("latency_min_ns", counts.latencies.least());
    object.number("latency_p50_ns", counts.latencies.quantile(0.5));
    object.number("latency_p90_ns", counts.latencies.quantile(0.9));
    object.number("latency_p99_ns", counts.latencies.quantile(0.99));
    object.number("latency_max_ns", counts.latencies.most());
}

void put_verdicts(std::string& out, const std::array<std::uint64_t, kVerdicts>& counts) {
    Object object(out);
    for (std::size_t i = 0; i < kVerdicts; ++i)
        object.number(name_of(static_cast<Verdict>(i)), counts[i]);
}

void put_direction(std::string& out, const Direction& facts, Ending ending) {
    Object object(out);
    object.number("requests", facts.request_packets);
    object.number("request_bytes", facts.request_bytes);
    object.number("responses", facts.response_packets);
    object.number("response_bytes", facts.response_bytes);
    object.name("messages");
    out += '[';
    bool first = true;
    for (std::size_t i = 0; i < kMessageKinds; ++i) {
        if (!facts.messages[i]) continue;
        if (!first) out += ',';
        first = false;
        put_counts(out, name_of(static_cast<MessageKind>(i)), *facts.messages[i]);
    }
    out += ']';
    object.real("goodput", facts.goodput().value_or(0));
    object.name("resent");
    {
        Object resent(out);
        constexpr std::array<std::string_view, kCauses> kNames{"unknown", "sequence_nak", "rnr_nak",
                                                               "implied_nak", "timeout"};
        for (std::size_t i = 0; i < kCauses; ++i)
            resent.number(kNames[i], facts.resent[i]);
    }
    object.number("resent_bytes", facts.resent_bytes);
    object.number("reads_again", facts.reads_again);
    object.number("repeated", facts.repeated);
    object.number("resent_after_ack", facts.resent_after_ack);
    object.number("copies", facts.copies);
    object.number("reordered", facts.reordered);
    object.number("damaged", facts.damaged);
    object.number("forgotten", facts.forgotten);
    object.number("acks", facts.acks);
    object.number("repeated_acks", facts.repeated_acks);
    object.number("acknowledged_psns", facts.acknowledged);
    object.number("sequence_naks", facts.sequence_naks);
    object.number("rnr_naks", facts.rnr_naks);
    object.number("fatal_naks", facts.fatal_naks);
    object.name("requests_missed");
    put_verdicts(out, facts.requests_missed);
    object.name("responses_missed");
    put_verdicts(out, facts.responses_missed);
    object.number("requests_not_captured", facts.requests_not_captured);
    object.number("responses_not_captured", facts.responses_not_captured);
    object.number("undecided", facts.undecided);
    object.number("timeouts", facts.timeouts);
    object.number("timeouts_in_a_row", facts.timeouts_in_a_row);
    object.duration("longest_timeout_ns", facts.longest_timeout);
    object.duration("timer_ns", facts.timer);
    object.number("outstanding_max", facts.most_outstanding);
    object.number("outstanding_at_end", facts.outstanding);
    object.name("spent_ns");
    {
        Object spent(out);
        for (std::size_t i = 0; i < kDoings; ++i)
            spent.duration(name_of(static_cast<Doing>(i)), facts.spent[i].sum);
    }
    if (!facts.requested.empty()) {
        object.name("throughput");
        Object series(out);
        series.time("begin", facts.requested.begin());
        series.duration("part_ns", facts.requested.part());
        series.name("bytes");
        out += '[';
        for (std::size_t i = 0; i < facts.requested.size(); ++i)
            fmt::format_to(std::back_inserter(out), "{}{}", i == 0 ? "" : ",", facts.requested[i]);
        out += ']';
    }
    object.text("ending", name_of(ending));
}

void put_episode(std::string& out, const Episode& episode,
                 std::optional<std::uint64_t> connection) {
    Object object(out);
    if (connection) {
        object.text("type", "episode");
        object.number("connection", *connection);
    }
    object.text("kind", name_of(episode.kind));
    object.text("verdict", name_of(episode.verdict));
    object.number("requester", episode.requester);
    object.number("psn", episode.psn.value());
    object.flag("read", episode.read);
    object.flag("recovered", episode.recovered);
    object.number("naks", episode.naks);
    object.number("timeouts", episode.timeouts);
    object.number("resent", episode.resent);
    if (episode.naks > 0) object.number("syndrome", episode.syndrome);
    object.packet("begin_packet", episode.begin_number);
    object.packet("nak_packet", episode.nak_number);
    object.packet("resent_packet", episode.resent_number);
    object.packet("end_packet", episode.end_number);
    object.time("begin", episode.begin);
    object.duration("detection_ns", episode.detection());
    object.duration("reaction_ns", episode.reaction());
    object.duration("duration_ns", episode.duration());
}

void put_setup_object(std::string& out, const Setup& setup) {
    Object object(out);
    object.number("request_packet", setup.request_number);
    object.number("reply_packet", setup.reply_number);
    object.packet("disconnect_packet", setup.disconnect_number);
    object.duration("took_ns", setup.took);
    object.text("service_id", fmt::format("0x{:016x}", setup.service_id));
    if (setup.ack_timeout) object.number("ack_timeout", *setup.ack_timeout);
    object.number("retry_count", setup.retry_count);
    object.number("rnr_retry_count", setup.rnr_retry_count);
    object.number("initiator_depth", setup.initiator_depth);
    object.number("responder_resources", setup.responder_resources);
}

std::string_view name_of(flow::Pairing pairing) {
    switch (pairing) {
    case flow::Pairing::None: return "none";
    case flow::Pairing::Inferred: return "inferred";
    case flow::Pairing::Known: return "cm";
    }
    return {};
}

void put_connection_object(std::string& out, const Report& report, const Reported& one, bool line) {
    const Conversation& conversation = *one.conversation;
    Object object(out);
    if (line) object.text("type", "connection");
    object.number("connection", conversation.id);
    object.text("service", conversation.service == wire::Service::Uc ? "UC" : "RC");
    object.text("pairing", name_of(conversation.pairing));
    if (conversation.mtu) object.number("mtu", wire::bytes_of(*conversation.mtu));
    object.name("ends");
    put_list(out, conversation.ends, [&](const Endpoint& end) {
        Object member(out);
        member.text("address", end.address.text());
        if (end.qpn) member.number("qp", end.qpn->value);
        member.number("ce_marks", end.congestion_marks);
        member.number("cnps", end.notifications);
    });
    if (conversation.setup) {
        object.name("setup");
        put_setup_object(out, *conversation.setup);
    }
    object.number("packets", conversation.packets());
    object.number("payload_bytes", conversation.bytes());
    object.number("unpaired_responses", conversation.unpaired_responses);
    object.number("first_packet", conversation.first_number);
    object.number("last_packet", conversation.last_number);
    object.time("begin", conversation.first_time);
    object.time("end", conversation.last_time);
    object.flag("evicted", conversation.evicted);
    object.flag("healthy", one.health.healthy());
    object.flag("died", one.health.died());
    object.name("problems");
    put_list(out, one.health.problems,
             [&](const std::string& problem) { out += '"' + problem + '"'; });
    object.text("explanation", explain(conversation, one.health, report.totals->end));
    object.name("directions");
    out += '[';
    put_direction(out, conversation.directions[0], one.health.endings[0]);
    out += ',';
    put_direction(out, conversation.directions[1], one.health.endings[1]);
    out += ']';
    if (!line) {
        object.name("episodes");
        put_list(out, conversation.episodes,
                 [&](const Episode& episode) { put_episode(out, episode, {}); });
    }
    object.number("more_episodes", conversation.more_episodes);
}

void put_refusal(std::string& out, const Refusal& refusal, bool typed) {
    Object object(out);
    if (typed) object.text("type", "refusal");
    object.text("client", refusal.client.text());
    object.text("server", refusal.server.text());
    object.number("client_qp", refusal.client_qpn.value);
    object.text("service_id", fmt::format("0x{:016x}", refusal.service_id));
    object.number("reason", refusal.reason);
    object.number("request_packet", refusal.request_number);
    object.number("reject_packet", refusal.reject_number);
}

std::string_view kind_name(const flow::Message& message) {
    return name_of(kind_of(message.info().operation));
}

std::string_view name_of(MarkKind kind) {
    switch (kind) {
    case MarkKind::Again: return "again";
    case MarkKind::Late: return "late";
    case MarkKind::SequenceNak: return "sequence-nak";
    case MarkKind::RnrNak: return "rnr-nak";
    case MarkKind::FatalNak: return "fatal-nak";
    case MarkKind::Timeout: return "timeout";
    case MarkKind::Cnp: return "cnp";
    }
    return {};
}

void put_points(std::string& out, const ThinnedPoints& points, wire::Instant begin) {
    const auto put_point = [&](const TracePoint& point) {
        fmt::format_to(std::back_inserter(out), "[{},{},{}]", (point.time - begin).count(),
                       point.position, point.number);
    };
    put_list(out, points.points(), put_point);
    const bool ends = points.seen() == 0 || points.points().back().number == points.last().number;
    if (ends) return;
    out.back() = ',';
    put_point(points.last());
    out += ']';
}

void put_graph(std::string& out, const Trace& trace, wire::Instant begin) {
    Object object(out);
    object.number("first", trace.first().value());
    object.name("sent");
    put_points(out, trace.sent(), begin);
    object.name("acknowledged");
    put_points(out, trace.acknowledged(), begin);
    object.flag("thinned", trace.sent().seen() > trace.sent().points().size() + 1);
    object.name("marks");
    Object marks(out);
    for (std::size_t i = 0; i < kMarkKinds; ++i) {
        const auto kind = static_cast<MarkKind>(i);
        if (trace.marks(kind).seen() == 0) continue;
        marks.name(name_of(kind));
        put_points(out, trace.marks(kind), begin);
    }
}

template <typename T>
std::string or_empty(const std::optional<T>& value) {
    if (!value) return {};
    return fmt::to_string(value->count());
}

} // namespace

void append_json(std::string& out, const Report& report) {
    {
        Object object(out);
        object.text("schema", "veriroce/analysis/1");
        object.name("capture");
        put_totals(out, report, false);
        object.name("connections");
        put_list(out, report.connections,
                 [&](const Reported& one) { put_connection_object(out, report, one, false); });
        object.name("refusals");
        put_list(out, report.totals->refusals,
                 [&](const Refusal& refusal) { put_refusal(out, refusal, false); });
    }
    out += '\n';
}

void append_json_lines(std::string& out, const Report& report) {
    put_totals(out, report, true);
    out += '\n';
    for (const Reported& one : report.connections) {
        put_connection_object(out, report, one, true);
        out += '\n';
        for (const Episode& episode : one.conversation->episodes) {
            put_episode(out, episode, one.conversation->id);
            out += '\n';
        }
    }
    for (const Refusal& refusal : report.totals->refusals) {
        put_refusal(out, refusal, true);
        out += '\n';
    }
}

void append_json_lines(std::string& out, std::span<const FinishedMessage> messages) {
    for (const FinishedMessage& one : messages) {
        {
            Object object(out);
            object.text("type", "message");
            object.number("connection", one.conversation);
            object.number("requester", one.requester);
            object.text("kind", kind_name(one.message));
            object.number("psn", one.message.first.value());
            object.number("last_psn", one.message.last.value());
            object.number("bytes", one.message.bytes);
            object.packet("first_packet", one.message.start_number);
            object.packet("answer_packet", one.message.answer_number);
            object.time("begin", one.message.start);
            object.duration("latency_ns", one.message.begun ? one.message.latency() : std::nullopt);
            object.number("resent", one.message.retransmissions);
        }
        out += '\n';
    }
}

void append_graphs_json(std::string& out, const Report& report) {
    const wire::Instant begin = report.totals->begin.value_or(wire::Instant{});
    out += '[';
    bool first = true;
    for (const Reported& one : report.connections) {
        const Conversation& conversation = *one.conversation;
        if (!conversation.directions[0].trace && !conversation.directions[1].trace) continue;
        if (!first) out += ',';
        first = false;
        Object object(out);
        object.number("connection", conversation.id);
        object.name("directions");
        put_list(out, conversation.directions, [&](const Direction& facts) {
            put_graph(out, facts.trace ? *facts.trace : Trace(), begin);
        });
    }
    out += ']';
}

void append_connections_csv(std::string& out, const Report& report) {
    out += "connection,address_0,qp_0,address_1,qp_1,requester,service,pairing,mtu,requests,"
           "responses,payload_bytes,messages,message_bytes,goodput,resent,resent_sequence_nak,"
           "resent_rnr_nak,resent_implied_nak,resent_timeout,copies,reordered,damaged,"
           "sequence_naks,rnr_naks,fatal_naks,timeouts,missed,not_captured,undecided,"
           "outstanding_max,first_packet,last_packet,ending,healthy\n";
    for (const Reported& one : report.connections) {
        const Conversation& c = *one.conversation;
        for (std::size_t i = 0; i < 2; ++i) {
            const Direction& d = c.directions[i];
            if (d.packets() == 0) continue;
            put(out, "{},{},{},{},{},{},{},{},{},", c.id, c.ends[0].address.text(),
                c.ends[0].qpn ? fmt::to_string(c.ends[0].qpn->value) : "", c.ends[1].address.text(),
                c.ends[1].qpn ? fmt::to_string(c.ends[1].qpn->value) : "", i,
                c.service == wire::Service::Uc ? "UC" : "RC", name_of(c.pairing),
                c.mtu ? fmt::to_string(wire::bytes_of(*c.mtu)) : "");
            put(out, "{},{},{},{},{},{:.6g},{},{},{},{},{},", d.request_packets, d.response_packets,
                d.bytes(), d.finished_messages(), d.finished_bytes(), d.goodput().value_or(0),
                d.all_resent(), d.resent[1], d.resent[2], d.resent[3], d.resent[4]);
            put(out, "{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}\n", d.copies, d.reordered,
                d.damaged, d.sequence_naks, d.rnr_naks, d.fatal_naks, d.timeouts, d.all_missed(),
                d.not_captured(), d.undecided, d.most_outstanding, d.first_number, d.last_number,
                name_of(one.health.endings[i]), one.health.healthy() ? "true" : "false");
        }
    }
}

void append_episodes_csv(std::string& out, const Report& report) {
    out += "connection,requester,kind,verdict,psn,read,recovered,naks,timeouts,resent,begin_packet,"
           "nak_packet,resent_packet,end_packet,detection_ns,reaction_ns,duration_ns\n";
    for (const Reported& one : report.connections) {
        for (const Episode& e : one.conversation->episodes) {
            put(out, "{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}\n", one.conversation->id,
                e.requester, name_of(e.kind), name_of(e.verdict), e.psn.value(), e.read,
                e.recovered, e.naks, e.timeouts, e.resent, e.begin_number, e.nak_number,
                e.resent_number, e.end_number, or_empty(e.detection()), or_empty(e.reaction()),
                or_empty(e.duration()));
        }
    }
}

void append_messages_csv_header(std::string& out) {
    out += "connection,requester,kind,psn,last_psn,bytes,first_packet,answer_packet,latency_ns,"
           "resent\n";
}

void append_messages_csv(std::string& out, std::span<const FinishedMessage> messages) {
    for (const FinishedMessage& one : messages) {
        const flow::Message& m = one.message;
        put(out, "{},{},{},{},{},{},{},{},{},{}\n", one.conversation, one.requester, kind_name(m),
            m.first.value(), m.last.value(), m.bytes, m.start_number, m.answer_number,
            or_empty(m.begun ? m.latency() : std::nullopt), m.retransmissions);
    }
}

} // namespace veriroce::analyze
