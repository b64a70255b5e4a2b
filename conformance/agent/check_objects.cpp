// The questions of `--check` about regions, QPs and what is posted.
#include <algorithm>
#include <array>

#include "conformance/agent/check_questions.hpp"
#include "conformance/dut/crc32c.hpp"
#include "conformance/dut/pattern.hpp"

namespace veriroce::agent {

namespace {

using enum dut::FailureCode;

constexpr std::uint64_t region_bytes = 10'000; // not a whole number of pages
constexpr std::uint64_t large_id = 18'446'744'073'709'551'615U;

struct Made {
    dut::PdHandle pd;
    dut::CqHandle cq;
};

std::optional<Made> make(Talk& talk) {
    const auto pd = talk.gives("pd_create", dut::PdCreate{});
    const auto cq = talk.gives("cq_create", dut::CqCreate{.depth = 16});
    if (!pd || !cq) return std::nullopt;
    return Made{pd->pd, cq->cq};
}

std::optional<dut::MrRegistered> region(Talk& talk, dut::PdHandle pd,
                                        std::optional<dut::Fill> fill = {}) {
    return talk.gives("mr_register", dut::MrRegister{.pd = pd,
                                                     .length = region_bytes,
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

void ask_state(Talk& talk, dut::QpHandle qp, engine::QpState state, std::string_view what,
               std::string_view contract) {
    const auto found = talk.gives("qp_query", dut::QpQuery{qp});
    if (found) talk.judge(found->attributes.state == state, what, contract);
}

void ask_pattern(Talk& talk, dut::MrHandle mr, dut::Pattern pattern) {
    // From and to the middle of a word: offsets count from the region, not from the range.
    const std::string name(name_of(pattern));
    constexpr std::uint64_t from = 4093;
    constexpr std::uint64_t length = 50;
    talk.gives(
        "mr_fill " + name,
        dut::MrFill{.mr = mr, .offset = from, .length = length, .pattern = pattern, .key = 7});
    const auto read =
        talk.gives("mr_read", dut::MrRead{.mr = mr, .offset = from, .length = length});
    if (!read) return;
    talk.judge(read->data.size() == length && !dut::pattern_mismatch(read->data, pattern, from, 7),
               "the pattern " + name,
               "a function of the byte's offset in its region and of the key, see Patterns");
}

std::vector<dut::Completion> poll_one_by_one(Talk& talk, dut::CqHandle cq, std::size_t count) {
    std::vector<dut::Completion> seen;
    while (seen.size() < count) {
        const auto polled = talk.gives("poll", dut::Poll{.cq = cq, .max = 1, .wait_ms = 2000});
        if (!polled || polled->completions.empty()) break;
        talk.judge(polled->completions.size() == 1, "poll with max 1", "up to max completions");
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
    talk.judge(mr->address % 4096 == 0, "the region's address", "the memory begins at a page");
    const std::vector<std::byte> data{std::byte{0}, std::byte{0xFF}, std::byte{0x10}};
    constexpr std::uint64_t at = region_bytes - 3;
    talk.gives("mr_write", dut::MrWrite{.mr = mr->mr, .offset = at, .data = data});
    const auto tail =
        talk.gives("mr_read", dut::MrRead{.mr = mr->mr, .offset = at - 1, .length = 4});
    if (tail) {
        talk.judge(tail->data.size() == 4 && tail->data[0] == std::byte{0} &&
                       std::equal(data.begin(), data.end(), tail->data.begin() + 1),
                   "what was written is read", "without fill a region is zero; data is base64");
    }
    const auto digest =
        talk.gives("mr_digest", dut::MrDigest{.mr = mr->mr, .offset = at, .length = 3});
    if (digest) {
        talk.judge(digest->crc32c == dut::crc32c(data), "the digest", "the CRC-32C of the range");
        talk.judge(digest->guards_intact, "the guards", "nobody has touched them");
    }
    talk.refuses("mr_read beyond the end", dut::MrRead{.mr = mr->mr, .offset = at, .length = 4},
                 InvalidParams, "a range beyond its region");
    talk.refuses("pd_destroy with a region", dut::PdDestroy{made->pd}, Refused, "in use is EBUSY",
                 "EBUSY");
    talk.gives("mr_deregister", dut::MrDeregister{mr->mr});
    talk.refuses("mr_read of what is gone", dut::MrRead{.mr = mr->mr, .offset = 0, .length = 1},
                 InvalidParams, "an unknown handle");
}

void ask_fills(Talk& talk, const Subject& /*subject*/) {
    const auto made = make(talk);
    if (!made) return;
    const auto mr =
        region(talk, made->pd, dut::Fill{.pattern = dut::Pattern::Offsets, .key = std::nullopt});
    if (!mr) return;
    const auto first = talk.gives("mr_read", dut::MrRead{.mr = mr->mr, .offset = 8, .length = 16});
    if (first) {
        talk.judge(!dut::pattern_mismatch(first->data, dut::Pattern::Offsets, 8, 0),
                   "the fill of mr_register", "key is 0 where it is left out");
    }
    for (const auto pattern :
         {dut::Pattern::Ones, dut::Pattern::Zero, dut::Pattern::Offsets, dut::Pattern::Random}) {
        ask_pattern(talk, mr->mr, pattern);
    }
}

void ask_qps(Talk& talk, const Subject& /*subject*/) {
    const auto made = make(talk);
    if (!made) return;
    const auto qp = queue_pair(talk, *made);
    const auto other = queue_pair(talk, *made);
    if (!qp || !other) return;
    talk.judge(qp->qpn != other->qpn && qp->qp != other->qp, "two QPs",
               "each has a handle and a QPN of its own");
    ask_state(talk, qp->qp, engine::QpState::Reset, "a new QP's state", "RESET");
    talk.refuses("RESET to RTS",
                 dut::QpModify{.qp = qp->qp, .attributes = {.state = engine::QpState::Rts}},
                 Refused, "the device refuses it (EINVAL); data has verb and errno", "EINVAL");
    ask_state(talk, qp->qp, engine::QpState::Reset, "the state after a refusal", "as before");
    talk.refuses("INIT without its attributes",
                 dut::QpModify{.qp = qp->qp, .attributes = {.state = engine::QpState::Init}},
                 Refused, "the attribute mask is exactly the names that are given", "EINVAL");
    talk.refuses_line("a misspelt attribute",
                      R"({"jsonrpc":"2.0","id":4001,"method":"qp_modify","params":{"qp":)" +
                          std::to_string(qp->qp.value) + R"(,"tiemout":14}})",
                      "4001", InvalidParams, "an unknown field");
    talk.gives("RESET to INIT", to_init(qp->qp));
    const auto found = talk.gives("qp_query", dut::QpQuery{qp->qp});
    if (found) {
        const auto& is = found->attributes;
        talk.judge(is.state == engine::QpState::Init && is.port_num == 1, "what qp_query says",
                   "state INIT and the attributes by their names");
    }
    talk.gives("to ERR",
               dut::QpModify{.qp = qp->qp, .attributes = {.state = engine::QpState::Err}});
    ask_state(talk, qp->qp, engine::QpState::Err, "the state", "ERR");
    talk.gives("to RESET",
               dut::QpModify{.qp = qp->qp, .attributes = {.state = engine::QpState::Reset}});
    talk.gives("qp_destroy", dut::QpDestroy{qp->qp});
    talk.refuses("qp_query of what is gone", dut::QpQuery{qp->qp}, InvalidParams,
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
        dut::PostRecv{.qp = qp->qp, .requests = {{.id = large_id, .sge = {sge}}, {.id = 2}}});
    if (!posted) return;
    talk.judge(posted->posted == 2, "posted", "how many were taken");
    talk.gives("to ERR",
               dut::QpModify{.qp = qp->qp, .attributes = {.state = engine::QpState::Err}});
    const auto receives = poll_one_by_one(talk, made->cq, 2);
    talk.judge(receives.size() == 2 && flushed(receives[0], *qp, engine::Queue::Receive) &&
                   flushed(receives[1], *qp, engine::Queue::Receive) &&
                   receives[0].id == large_id && receives[1].id == 2,
               "the receives of a QP in ERR",
               "both complete with WR_FLUSH_ERR, in order, with id, qp and queue recv");
    talk.gives("post_send in ERR",
               dut::PostSend{.qp = qp->qp, .requests = {{.id = 3, .sge = {sge}, .flags = {}}}});
    const auto sends = poll_one_by_one(talk, made->cq, 1);
    talk.judge(sends.size() == 1 && sends[0].id == 3 && flushed(sends[0], *qp, engine::Queue::Send),
               "a send of a QP in ERR",
               "completes with WR_FLUSH_ERR, signaled or not, with id, qp and queue send");
}

} // namespace veriroce::agent
