// Each trouble by hand: what is said of it must be what happened.
#include "tests/dissector/analyze/history.hpp"

namespace veriroce::analyze::test {

using wire::NakCode;
using wire::Syndrome;

TEST_CASE("analysis: messages, latencies, window and coalesced ACKs of an undisturbed connection",
          "[analyze]") {
    Wire w;
    const Analyzer analyzer = analysed({
        at(w.from_a(kWriteFirst, 100, 1024), 0),
        at(w.from_a(kWriteLast, 101, 1000), 10),
        at(w.from_a(kSendOnly, 102, 64), 20),
        at(w.ack(102, 2), 50), // one for both
        at(w.from_a(kSendOnly, 103, 64), 1050),
        at(w.ack(103, 3), 1055),
        at(w.read(104, 2000), 2000),
        at(w.answer(104, 4, Syndrome::ack(31), kReadFirst, 1024), 2100),
        at(w.answer(105, 4, Syndrome::ack(31), kReadLast, 976), 2200),
    });
    const Conversation& conversation = only(analyzer);
    CHECK(conversation.pairing == flow::Pairing::Inferred);
    CHECK(conversation.mtu == wire::Mtu::B1024);
    const Direction& facts = from_a(conversation);
    CHECK(facts.request_packets == 5);
    CHECK(facts.response_packets == 4);
    CHECK(facts.most_outstanding == 3);
    CHECK(facts.acks == 2);
    CHECK(facts.acknowledged == 6);
    CHECK(facts.all_resent() + facts.copies + facts.reordered + facts.repeated == 0);
    const auto& writes = facts.messages[static_cast<std::size_t>(MessageKind::Write)];
    REQUIRE(writes);
    CHECK(writes->messages == 1);
    CHECK(writes->bytes == 2024);
    CHECK(writes->latencies.most() == 50'000);
    const auto& sends = facts.messages[static_cast<std::size_t>(MessageKind::Send)];
    REQUIRE(sends);
    CHECK(sends->latencies.least() == 5'000);
    CHECK(sends->latencies.most() == 30'000);
    const auto& reads = facts.messages[static_cast<std::size_t>(MessageKind::Read)];
    REQUIRE(reads);
    CHECK(reads->bytes == 2000);
    CHECK(reads->latencies.most() == 200'000);
    CHECK(spent(facts, Doing::Idle) == 1945us);
    CHECK(spent(facts, Doing::Sending) == 20us);
    CHECK(spent(facts, Doing::Waiting) == 235us);
    const Health health = health_of(conversation, {}, analyzer.totals().end);
    CHECK(health.healthy());
    CHECK(health.endings[0] == Ending::Quiet);
    CHECK_FALSE(health_of(conversation, {.latency = 100us}, analyzer.totals().end).healthy());
    CHECK(health_of(conversation, {.latency = 300us}, analyzer.totals().end).healthy());
}

TEST_CASE("analysis: a NAK for a packet that came past is a loss behind the capture point",
          "[analyze][RSP-02]") {
    Wire w;
    const Analyzer analyzer = analysed({
        at(w.from_a(kSendOnly, 100, 64), 0),
        at(w.ack(100, 1), 5),
        at(w.from_a(kSendOnly, 101, 64), 10), // lost behind
        at(w.from_a(kSendOnly, 102, 64), 11),
        at(w.nak(101, 1, NakCode::PsnSequence), 20),
        at(w.from_a(kSendOnly, 101, 64), 50),
        at(w.from_a(kSendOnly, 102, 64), 51),
        at(w.ack(102, 3), 60),
    });
    const Conversation& conversation = only(analyzer);
    const Direction& facts = from_a(conversation);
    CHECK(facts.requests_missed == verdicts(Verdict::Behind, 1));
    CHECK(resent(facts, flow::Cause::SequenceNak) == 2);
    CHECK(facts.resent_bytes == 128);
    CHECK(facts.timeouts == 0);
    CHECK(facts.not_captured() + facts.undecided == 0);
    CHECK(spent(facts, Doing::Reacting) == 30us);
    CHECK(spent(facts, Doing::Resending) == 1us);
    REQUIRE(conversation.episodes.size() == 1);
    const Episode& episode = conversation.episodes.front();
    CHECK(episode.kind == EpisodeKind::SequenceNak);
    CHECK(episode.psn == wire::Psn(101));
    CHECK(episode.begin_number == 4);
    CHECK(episode.nak_number == 5);
    CHECK(episode.resent_number == 6);
    CHECK(episode.end_number == 8);
    CHECK(episode.resent == 2);
    CHECK(episode.detection() == 9us);
    CHECK(episode.reaction() == 30us);
    CHECK(episode.duration() == 49us);
    CHECK(episode.recovered);
    const Health health = health_of(conversation, {}, analyzer.totals().end);
    CHECK(health.problems.size() == 1); // retransmissions
    CHECK(health_of(conversation, {.resent_part = 0.5}, {}).healthy());
}

TEST_CASE("analysis: what never came past was lost before, or was overtaken", "[analyze]") {
    // The identification tells in which order the packets were sent.
    for (const bool late : {false, true}) {
        Wire w;
        const Analyzer analyzer = analysed({
            at(w.from_a(kSendOnly, 100, 64), 0, 7000),
            at(w.from_a(kSendOnly, 101, 64), 1, 7001),
            at(w.ack(101, 2), 5),
            at(w.from_a(kSendOnly, 103, 64), 10, 7003),
            at(w.nak(102, 2, NakCode::PsnSequence), 20),
            at(w.from_a(kSendOnly, 102, 64), 30, late ? 7002 : 7004),
            at(w.from_a(kSendOnly, 103, 64), 31, 7005),
            at(w.ack(103, 4), 40),
        });
        const Direction& facts = from_a(only(analyzer));
        CHECK(facts.requests_missed == verdicts(late ? Verdict::Overtaken : Verdict::Lost, 1));
        CHECK(facts.reordered == (late ? 1 : 0));
        CHECK(facts.repeated == 1);
        CHECK(facts.not_captured() + facts.undecided == 0);
    }
}

TEST_CASE("analysis: a damaged packet is no lost one", "[analyze][CRC-07]") {
    Wire w;
    flow::Packet damaged = at(w.from_a(kSendOnly, 101, 64), 10);
    damaged.integrity = flow::Integrity::Bad;
    const Analyzer analyzer = analysed({
        at(w.from_a(kSendOnly, 100, 64), 0),
        at(w.ack(100, 1), 5),
        damaged,
        at(w.from_a(kSendOnly, 102, 64), 11),
        at(w.nak(101, 1, NakCode::PsnSequence), 20),
        at(w.from_a(kSendOnly, 101, 64), 50),
        at(w.from_a(kSendOnly, 102, 64), 51),
        at(w.ack(102, 3), 60),
    });
    const Direction& facts = from_a(only(analyzer));
    CHECK(facts.requests_missed == verdicts(Verdict::Damaged, 1));
    CHECK(facts.damaged == 1);
    CHECK(facts.not_captured() + facts.undecided == 0);
    CHECK(resent(facts, flow::Cause::SequenceNak) == 2);
    CHECK(analyzer.totals().damaged == 1);
}

TEST_CASE("analysis: what is acknowledged and was never seen, the capture lost", "[analyze]") {
    Wire w;
    const Analyzer analyzer = analysed({
        at(w.from_a(kSendOnly, 100, 64), 0), at(w.ack(100, 1), 5),
        at(w.from_a(kSendOnly, 104, 64), 10), at(w.ack(104, 5), 20),
        at(w.from_a(kSendOnly, 107, 64), 30), // and nothing says what became of 105 and 106
    });
    const Direction& facts = from_a(only(analyzer));
    CHECK(facts.requests_not_captured == 3);
    CHECK(facts.undecided == 2);
    CHECK(facts.all_missed() == 0);
    CHECK(facts.all_resent() == 0);
    CHECK(health_of(only(analyzer), {}, {}).healthy());
}

TEST_CASE("analysis: RNR NAKs are the responder's, and their waits are told", "[analyze][RNR-08]") {
    Wire w;
    const Analyzer analyzer = analysed({
        at(w.from_a(kSendOnly, 100, 64), 0),
        at(w.answer(100, 0, Syndrome::rnr(14)), 10), // 1.28 ms
        at(w.from_a(kSendOnly, 100, 64), 1510),
        at(w.answer(100, 0, Syndrome::rnr(14)), 1520),
        at(w.from_a(kSendOnly, 100, 64), 3020),
        at(w.ack(100, 1), 3030),
    });
    const Conversation& conversation = only(analyzer);
    const Direction& facts = from_a(conversation);
    CHECK(facts.rnr_naks == 2);
    CHECK(resent(facts, flow::Cause::RnrNak) == 2);
    CHECK(facts.timeouts == 0);
    CHECK(facts.all_missed() == 0);
    CHECK(spent(facts, Doing::RnrWait) == 3000us);
    REQUIRE(conversation.episodes.size() == 1);
    CHECK(conversation.episodes[0].kind == EpisodeKind::RnrNak);
    CHECK(conversation.episodes[0].naks == 2);
    CHECK(conversation.episodes[0].reaction() == 1500us);
    CHECK(conversation.episodes[0].duration() == 3030us);
    CHECK(health_of(conversation, {.resent_part = 1, .rnr_naks = 2}, {}).healthy());
    CHECK_FALSE(health_of(conversation, {.resent_part = 1, .rnr_naks = 1}, {}).healthy());
}

TEST_CASE("analysis: timeouts in a row tell the timer and how the connection died",
          "[analyze][TMO-01]") {
    Wire w;
    std::vector<flow::Packet> packets{at(w.from_a(kSendOnly, 99, 64), 0), at(w.ack(99, 1), 5),
                                      at(w.from_a(kSendOnly, 100, 64), 10)};
    for (std::int64_t retry = 1; retry <= 3; ++retry)
        packets.push_back(at(w.from_a(kSendOnly, 100, 64), 10 + 20'000 * retry));
    const Analyzer analyzer = analysed(packets);
    const Conversation& conversation = only(analyzer);
    const Direction& facts = from_a(conversation);
    CHECK(facts.timeouts == 3);
    CHECK(facts.timeouts_in_a_row == 3);
    CHECK(facts.timer == wire::Duration(20ms));
    CHECK(resent(facts, flow::Cause::Timeout) == 3);
    CHECK(spent(facts, Doing::Timeout) == 60ms);
    CHECK(facts.all_missed() == 0); // nobody says what was lost
    const auto codes = timeout_codes(*facts.timer);
    REQUIRE(codes);
    CHECK(codes->least == 11); // 4.096 us * 2^11 is 8.4 ms, four times as long is allowed
    CHECK(codes->most == 12);
    const auto end = analyzer.totals().end;
    CHECK(health_of(conversation, {}, end).endings[0] == Ending::Retrying);
    CHECK(health_of(conversation, {}, *end + 1s).endings[0] == Ending::GaveUp);
    CHECK(health_of(conversation, {}, *end + 1s).died());
}

TEST_CASE("analysis: a run that goes on after a NAK or an ACK is no new trouble",
          "[analyze][REQ-11]") {
    Wire w;
    std::vector<flow::Packet> packets;
    for (std::uint32_t psn = 100; psn < 110; ++psn)
        packets.push_back(at(w.from_a(kSendOnly, psn, 64), psn));
    packets.push_back(at(w.nak(102, 2, NakCode::PsnSequence), 120));
    for (std::uint32_t psn = 102; psn < 106; ++psn)
        packets.push_back(at(w.from_a(kSendOnly, psn, 64), 100 + psn));
    packets.push_back(at(w.ack(104, 5), 400));                // acknowledges the missed one
    packets.push_back(at(w.from_a(kSendOnly, 106, 64), 460)); // 60 us of silence, but it goes on
    packets.push_back(at(w.from_a(kSendOnly, 107, 64), 461));
    const Analyzer analyzer = analysed(packets);
    const Conversation& conversation = only(analyzer);
    CHECK(resent(from_a(conversation), flow::Cause::SequenceNak) == 6);
    CHECK(from_a(conversation).timeouts == 0);
    CHECK(conversation.episodes.size() == 1);
}

TEST_CASE("analysis: each timeout after new requests is one more", "[analyze][TMO-01]") {
    Wire w;
    std::vector<flow::Packet> packets;
    for (std::uint32_t psn = 100; psn < 105; ++psn) {
        const std::int64_t us = psn * 10'000;
        packets.push_back(at(w.from_a(kSendOnly, psn, 64), us)); // its ACK is lost
        packets.push_back(at(w.from_a(kSendOnly, psn, 64), us + 5'000));
        packets.push_back(at(w.ack(psn, psn - 99), us + 5'010));
    }
    const Analyzer analyzer = analysed(packets);
    const Direction& facts = from_a(only(analyzer));
    CHECK(facts.timeouts == 5);
    CHECK(facts.timeouts_in_a_row == 1);
    CHECK_FALSE(facts.timer);
    CHECK(spent(facts, Doing::Timeout) == 25ms);
    CHECK(only(analyzer).episodes.size() == 5);
}

TEST_CASE("analysis: a fatal NAK ends the connection", "[analyze][RSP-12]") {
    Wire w;
    const Analyzer analyzer = analysed({
        at(w.from_a(kSendOnly, 100, 64), 0),
        at(w.nak(100, 0, NakCode::RemoteAccess), 10),
    });
    const Conversation& conversation = only(analyzer);
    const Health health = health_of(conversation, {}, analyzer.totals().end);
    CHECK(health.died());
    CHECK(health.endings[0] == Ending::Refused);
    CHECK(from_a(conversation).fatal_naks == 1);
    REQUIRE(conversation.episodes.size() == 1);
    CHECK_FALSE(conversation.episodes[0].recovered);
    CHECK(conversation.episodes[0].begin_number == 1);
    CHECK(conversation.episodes[0].nak_number == 2);
}

TEST_CASE("analysis: READ responses that the requester asks for again were lost, others the "
          "capture lacks",
          "[analyze][REQ-08]") {
    for (const bool asked : {true, false}) {
        Wire w;
        std::vector<flow::Packet> packets{
            at(w.from_a(kWriteFirst, 98, 1024), 0), // shows the path MTU
            at(w.from_a(kWriteLast, 99, 10), 1),
            at(w.ack(99, 1), 5),
            at(w.read(100, 4096), 10),
            at(w.answer(100, 2, Syndrome::ack(31), kReadFirst, 1024), 20),
            at(w.answer(102, 2, Syndrome::ack(31), kReadMiddle, 1024), 22),
            at(w.answer(103, 2, Syndrome::ack(31), kReadLast, 1024), 23),
        };
        if (asked) {
            packets.push_back(at(w.read(101, 3072), 30));
            packets.push_back(at(w.answer(101, 2, Syndrome::ack(31), kReadFirst, 1024), 40));
            packets.push_back(at(w.answer(102, 2, Syndrome::ack(31), kReadMiddle, 1024), 41));
            packets.push_back(at(w.answer(103, 2, Syndrome::ack(31), kReadLast, 1024), 42));
        }
        packets.push_back(at(w.from_a(kSendOnly, 104, 64), 100));
        packets.push_back(at(w.ack(104, 3), 110));
        const Analyzer analyzer = analysed(packets);
        const Direction& facts = from_a(only(analyzer));
        CHECK(facts.responses_missed == verdicts(Verdict::Lost, asked ? 1 : 0));
        CHECK(facts.responses_not_captured == (asked ? 0 : 1));
        CHECK(facts.reads_again == (asked ? 1 : 0));
        CHECK(resent(facts, flow::Cause::Implied) == (asked ? 1 : 0));
        CHECK(facts.undecided == 0);
        CHECK(facts.timeouts == 0);
    }
}

TEST_CASE("analysis: a capture that holds every packet twice shows no loss", "[analyze]") {
    Wire w;
    std::vector<flow::Packet> packets;
    for (std::uint32_t psn = 100; psn < 120; ++psn) {
        const auto us = static_cast<std::int64_t>(psn) * 100;
        for (const std::int64_t copy : {0, 3})
            packets.push_back(at(w.from_a(kSendOnly, psn, 64), us + copy));
        for (const std::int64_t copy : {0, 3})
            packets.push_back(at(w.ack(psn, psn - 99), us + 20 + copy));
    }
    const Analyzer analyzer = analysed(packets);
    const Direction& facts = from_a(only(analyzer));
    CHECK(facts.copies == 20);
    CHECK(facts.all_resent() + facts.all_missed() + facts.timeouts == 0);
    CHECK(facts.finished_messages() == 20);
    CHECK(health_of(only(analyzer), {}, {}).healthy());
}

TEST_CASE("analysis: congestion marks and notifications belong to the end that sent them",
          "[analyze]") {
    Wire w;
    flow::Packet marked = at(w.from_a(kSendOnly, 101, 64), 10);
    marked.ecn = 3;
    const Analyzer analyzer = analysed({
        at(w.from_a(kSendOnly, 100, 64), 0),
        at(w.ack(100, 1), 5),
        marked,
        at(w.from_b(wire::kCnpOpcode, 0), 12),
        at(w.ack(101, 2), 15),
    });
    const Conversation& conversation = only(analyzer);
    const std::size_t a = conversation.directions[0].packets() > 0 ? 0 : 1;
    CHECK(conversation.ends[a].congestion_marks == 1);
    CHECK(conversation.ends[1 - a].notifications == 1);
    CHECK(analyzer.totals().notifications == 1);
    CHECK(health_of(conversation, {}, {}).healthy());
}

TEST_CASE("analysis: memory is bounded, and what is not kept is counted", "[analyze]") {
    Analyzer analyzer({.flow = {.connections = 8}, .conversations = 10});
    for (std::uint32_t i = 0; i < 30; ++i) {
        Wire w;
        flow::Packet packet = at(w.from_a(kSendOnly, 100, 64), i);
        packet.transport.bth.dest_qp = {1000 + i};
        packet.number = i + 1;
        analyzer.observe(packet);
    }
    analyzer.finish();
    CHECK(analyzer.conversations().size() == 10);
    CHECK(analyzer.totals().conversations_not_kept == 20);
    CHECK(analyzer.totals().evicted == 22);
}

TEST_CASE("analysis: the text names packets and fits 100 columns", "[analyze]") {
    Wire w;
    const Analyzer analyzer = analysed({
        at(w.from_a(kSendOnly, 100, 64), 0),
        at(w.nak(100, 0, NakCode::RemoteAccess), 10),
    });
    const Report report = report_of(analyzer, {});
    CHECK_FALSE(report.healthy());
    std::string text;
    append_text(text, report, {.details = true});
    INFO(text);
    CHECK(text.find("10.77.0.2 refused the request with PSN 100 (packet 1) with the NAK Remote") !=
          std::string::npos);
    CHECK(text.find("DIED") != std::string::npos);
    std::size_t begin = 0;
    for (std::size_t end = 0; (end = text.find('\n', begin)) != std::string::npos; begin = end + 1)
        CHECK(end - begin <= 140); // bars take several bytes each; the columns: tests/program
    std::string json;
    append_json(json, report);
    CHECK(json.find("\"endings\"") == std::string::npos);
    CHECK(json.find("\"ending\":\"refused\"") != std::string::npos);
}

} // namespace veriroce::analyze::test
