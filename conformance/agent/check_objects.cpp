// The questions of `--check` about regions, QPs and work requests.
#include <algorithm>
#include <array>

#include "conformance/agent/check_questions.hpp"
#include "conformance/dut/pattern.hpp"
#include "dissector/wire/crc32c.hpp"

namespace veriroce::agent {

namespace {

using enum dut::FailureCode;

constexpr std::uint64_t kRegionBytes = 10'000; // not a whole number of pages
constexpr std::uint64_t kLargeId = 18'446'744'073'709'551'615U;

struct Made {
    dut::PdHandle pd;
    dut::CqHandle cq;
};

std::optional<Made> make(Talk& talk) {
    const auto pd = talk.gives("pd_create", dut::PdCreate{});
    const auto cq = talk.gives("cq_create", dut::CqCreate{.depth = 16});
    if (cq && cq->depth) {
        talk.check(*cq->depth >= 16, "the depth of a queue",
                   "the real one, at least the asked one");
    }
    if (!pd || !cq) return std::nullopt;
    return Made{pd->pd, cq->cq};
}

std::optional<dut::MrRegistered> region(Talk& talk, dut::PdHandle pd,
                                        std::optional<dut::Fill> fill = {}) {
    return talk.gives("mr_register", dut::MrRegister{.pd = pd,
                                                     .length = kRegionBytes,
                                                     .access = {.local_write = true},
                                                     .fill = fill});
}

std::optional<dut::QpCreated> queue_pair(Talk& talk, const Made& made) {
    return talk.gives(
        "qp_create",
        dut::QpCreate{
            .pd = made.pd, .send_cq = made.cq, .recv_cq = made.cq, .max_send = 4, .max_recv = 4});
}

dut::QpModify to_init(dut::QpHandle qp) {
    return {.qp = qp,
            .attributes = {.state = engine::QpState::Init,
                           .access = engine::Access{.remote_write = true},
                           .pkey_index = 0,
                           .port_num = 1}};
}

// An agent that says that it probed may lack the query.
bool reports_state(const Subject& subject) {
    const auto& words = subject.welcome.capabilities;
    return !subject.welcome.probed.value_or(false) ||
           std::ranges::find(words, "query_qp") != words.end();
}

void ask_state(Talk& talk, const Subject& subject, dut::QpHandle qp, engine::QpState state,
               std::string_view what, std::string_view contract) {
    if (!reports_state(subject)) return;
    const auto found = talk.gives("qp_query", dut::QpQuery{qp});
    if (found) talk.check(found->attributes.state == state, what, contract);
}

void ask_pattern(Talk& talk, dut::MrHandle mr, dut::Pattern pattern) {
    // Starts and ends in the middle of a word: offsets count from the region, not from the range.
    const std::string name(name_of(pattern));
    constexpr std::uint64_t from = 4093;
    constexpr std::uint64_t length = 50;
    talk.gives(
        "mr_fill " + name,
        dut::MrFill{.mr = mr, .offset = from, .length = length, .pattern = pattern, .key = 7});
    const auto read =
        talk.gives("mr_read", dut::MrRead{.mr = mr, .offset = from, .length = length});
    if (!read) return;
    talk.check(read->data.size() == length && !dut::pattern_mismatch(read->data, pattern, from, 7),
               "the pattern " + name,
               "bytes computed from their offset in the region and the key; see Patterns");
}

std::vector<dut::Completion> poll_one_by_one(Talk& talk, dut::CqHandle cq, std::size_t count) {
    std::vector<dut::Completion> seen;
    while (seen.size() < count) {
        const auto polled = talk.gives("poll", dut::Poll{.cq = cq, .max = 1, .wait_ms = 2000});
        if (!polled || polled->completions.empty()) break;
        talk.check(polled->completions.size() == 1, "poll with max 1", "up to max completions");
        seen.insert(seen.end(), polled->completions.begin(), polled->completions.end());
    }
    return seen;
}

bool flushed(const dut::Completion& one, const dut::QpCreated& qp, engine::Queue queue) {
    return one.status == engine::WcStatus::WrFlushErr && one.qp == qp.qp && one.queue == queue;
}

} // namespace

void ask_memory(Talk& talk, const Subject& /*subject*/) {
    const auto made = make(talk);
    if (!made) return;
    const auto mr = region(talk, made->pd);
    if (!mr) return;
    talk.check(mr->address % 4096 == 0, "the address of the region",
               "memory that begins at a page");
    const std::vector<std::byte> data{std::byte{0}, std::byte{0xFF}, std::byte{0x10}};
    constexpr std::uint64_t at = kRegionBytes - 3;
    talk.gives("mr_write", dut::MrWrite{.mr = mr->mr, .offset = at, .data = data});
    const auto tail =
        talk.gives("mr_read", dut::MrRead{.mr = mr->mr, .offset = at - 1, .length = 4});
    if (tail) {
        talk.check(tail->data.size() == 4 && tail->data[0] == std::byte{0} &&
                       std::equal(data.begin(), data.end(), tail->data.begin() + 1),
                   "reading back what was written",
                   "zeros where nothing was written; data in base64");
    }
    const auto digest =
        talk.gives("mr_digest", dut::MrDigest{.mr = mr->mr, .offset = at, .length = 3});
    if (digest) {
        talk.check(digest->crc32c == wire::crc32c(data), "the digest", "the CRC-32C of the range");
        talk.check(digest->guards_intact, "the guards", "guards_intact true");
    }
    talk.refuses("mr_read beyond the end", dut::MrRead{.mr = mr->mr, .offset = at, .length = 4},
                 InvalidParams, "the range is beyond the region");
    talk.refuses("pd_destroy with a region", dut::PdDestroy{made->pd}, Refused,
                 "EBUSY, because it is in use", "EBUSY");
    talk.gives("mr_deregister", dut::MrDeregister{mr->mr});
    talk.refuses("mr_read of a deregistered region",
                 dut::MrRead{.mr = mr->mr, .offset = 0, .length = 1}, InvalidParams,
                 "an unknown handle");
}

void ask_fills(Talk& talk, const Subject& /*subject*/) {
    const auto made = make(talk);
    if (!made) return;
    const auto mr =
        region(talk, made->pd, dut::Fill{.pattern = dut::Pattern::Offsets, .key = std::nullopt});
    if (!mr) return;
    const auto first = talk.gives("mr_read", dut::MrRead{.mr = mr->mr, .offset = 8, .length = 16});
    if (first) {
        talk.check(!dut::pattern_mismatch(first->data, dut::Pattern::Offsets, 8, 0),
                   "the fill of mr_register", "the pattern with key 0, which is the default");
    }
    for (const auto pattern :
         {dut::Pattern::Ones, dut::Pattern::Zero, dut::Pattern::Offsets, dut::Pattern::Random}) {
        ask_pattern(talk, mr->mr, pattern);
    }
}

void ask_qps(Talk& talk, const Subject& subject) {
    const auto made = make(talk);
    if (!made) return;
    const auto qp = queue_pair(talk, *made);
    const auto other = queue_pair(talk, *made);
    if (!qp || !other) return;
    talk.check(qp->qpn != other->qpn && qp->qp != other->qp, "two QPs",
               "a different handle and QPN for each");
    ask_state(talk, subject, qp->qp, engine::QpState::Reset, "a new QP's state", "RESET");
    talk.refuses("RESET to RTS",
                 dut::QpModify{.qp = qp->qp, .attributes = {.state = engine::QpState::Rts}},
                 Refused, "the device refuses it with EINVAL; data has verb and errno", "EINVAL");
    ask_state(talk, subject, qp->qp, engine::QpState::Reset, "the state after a refusal",
              "the same state as before");
    talk.refuses("INIT without its attributes",
                 dut::QpModify{.qp = qp->qp, .attributes = {.state = engine::QpState::Init}},
                 Refused, "the attribute mask consists exactly of the given names", "EINVAL");
    talk.refuses_line("a misspelled attribute",
                      R"({"jsonrpc":"2.0","id":4001,"method":"qp_modify","params":{"qp":)" +
                          std::to_string(qp->qp.value) + R"(,"tiemout":14}})",
                      "4001", InvalidParams, "an unknown field");
    talk.gives("RESET to INIT", to_init(qp->qp));
    const auto found =
        reports_state(subject) ? talk.gives("qp_query", dut::QpQuery{qp->qp}) : std::nullopt;
    if (found) {
        const auto& is = found->attributes;
        talk.check(is.state == engine::QpState::Init && is.port_num == 1, "the result of qp_query",
                   "state INIT and the attributes by their names");
    }
    talk.gives("to ERR",
               dut::QpModify{.qp = qp->qp, .attributes = {.state = engine::QpState::Err}});
    ask_state(talk, subject, qp->qp, engine::QpState::Err, "the state", "ERR");
    talk.gives("to RESET",
               dut::QpModify{.qp = qp->qp, .attributes = {.state = engine::QpState::Reset}});
    talk.gives("qp_destroy", dut::QpDestroy{qp->qp});
    talk.refuses("qp_query of a destroyed QP", dut::QpQuery{qp->qp}, InvalidParams,
                 "an unknown handle");
}

void ask_posts(Talk& talk, const Subject& /*subject*/) {
    const auto made = make(talk);
    if (!made) return;
    const auto qp = queue_pair(talk, *made);
    const auto mr = region(talk, made->pd);
    if (!qp || !mr) return;
    talk.gives("RESET to INIT", to_init(qp->qp));
    const dut::Sge sge{.mr = mr->mr, .offset = 0, .length = 64, .lkey = std::nullopt};
    talk.refuses("a chain with an unknown region",
                 dut::PostRecv{.qp = qp->qp,
                               .requests = {{.id = 8, .sge = {sge}},
                                            {.id = 9, .sge = {{.mr = {mr->mr.value + 1000}}}}}},
                 InvalidParams, "nothing is posted");
    const auto posted = talk.gives(
        "post_recv",
        dut::PostRecv{.qp = qp->qp, .requests = {{.id = kLargeId, .sge = {sge}}, {.id = 2}}});
    if (!posted) return;
    talk.check(posted->posted == 2, "posted", "the number of accepted requests");
    talk.gives("to ERR",
               dut::QpModify{.qp = qp->qp, .attributes = {.state = engine::QpState::Err}});
    const auto receives = poll_one_by_one(talk, made->cq, 2);
    talk.check(receives.size() == 2 && flushed(receives[0], *qp, engine::Queue::Receive) &&
                   flushed(receives[1], *qp, engine::Queue::Receive) &&
                   receives[0].id == kLargeId && receives[1].id == 2,
               "the receives of a QP in ERR",
               "two completions with WR_FLUSH_ERR, in order, with id, qp and queue recv");
    talk.gives("post_send in ERR",
               dut::PostSend{.qp = qp->qp, .requests = {{.id = 3, .sge = {sge}, .flags = {}}}});
    const auto sends = poll_one_by_one(talk, made->cq, 1);
    talk.check(sends.size() == 1 && sends[0].id == 3 && flushed(sends[0], *qp, engine::Queue::Send),
               "a send of a QP in ERR",
               "a completion with WR_FLUSH_ERR, signaled or not, with id, qp and queue send");
}

} // namespace veriroce::agent
