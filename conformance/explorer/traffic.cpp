// Traffic between the tester's engine and the device, over a network that does
// damage; and what an application does beside it.
#include "conformance/explorer/talk.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace veriroce::explorer {
namespace {

// Of both ends. All faults of a dialogue together may befall the copies of one request.
constexpr std::uint64_t kRetries = 7;

std::string damage_of(Sketch& sketch) {
    constexpr std::array<std::string_view, 14> actions{"drop",         "drop",
                                                       "drop",         "duplicate",
                                                       "duplicate",    "duplicate n=2 after=100us",
                                                       "delay 300us",  "reorder by=1",
                                                       "reorder by=2", "corrupt field=psn",
                                                       "mark ce",      "rewrite becn=1",
                                                       "replay age=1", "replay age=3"};
    return std::string(sketch.random().pick(actions));
}

// Which packets of a side it befalls.
std::string_view victims_of(Sketch& sketch) {
    constexpr std::array<std::string_view, 6> kinds{
        "", "", "", " opcode=acks", " opcode=responses", " opcode=data"};
    return sketch.random().pick(kinds);
}

std::string receive(Sketch& sketch, const Qp& qp, bool of_dut, std::uint64_t id,
                    std::uint64_t bytes) {
    if (!of_dut) return fmt::format("tester recv {}id={} len={}", of(qp), id, bytes);
    if (bytes == 0) return fmt::format("dut    recv {}id={} len=0", of(qp), id);
    return fmt::format("dut    recv {}id={} local=k{}[{} +{}]", of(qp), id, qp.domain,
                       sketch.sink(qp.domain, bytes), bytes);
}

struct Work {
    std::string_view operation;
    bool receives = false; // at the other end
    bool immediate = false;
    bool brings = false; // data to the one who posts
    bool atomic = false;
};

Work some_work(Sketch& sketch) {
    const Features& features = sketch.features();
    const bool immediate = features.immediate && sketch.percent(30);
    const std::uint64_t die = sketch.random().below(10);
    if (die < 3 && features.reads) return {.operation = "RDMA_READ", .brings = true};
    if (die == 3 && features.atomics)
        return {.operation = sketch.percent(60) ? "ATOMIC_FETCH_AND_ADD" : "ATOMIC_CMP_AND_SWP",
                .brings = true,
                .atomic = true};
    if (die < 7 && features.writes) {
        if (immediate)
            return {.operation = "RDMA_WRITE_WITH_IMM", .receives = true, .immediate = true};
        return {.operation = "RDMA_WRITE"};
    }
    if (immediate) return {.operation = "SEND_WITH_IMM", .receives = true, .immediate = true};
    return {.operation = "SEND", .receives = true};
}

// The memory of both ends that a post line names.
std::string pieces(Sketch& sketch, const Qp& qp, const Work& work, bool of_dut, std::uint64_t bytes,
                   bool one) {
    const bool remote = work.operation.starts_with("RDMA") || work.atomic;
    if (bytes == 0) {
        const std::string there = of_dut ? sketch.far(0).region : fmt::format("t{}", qp.domain);
        return remote ? fmt::format(" len=0 remote={}", there) : " len=0";
    }
    const std::uint32_t domain = qp.domain;
    if (of_dut) {
        const Place far = work.atomic ? sketch.far_word() : sketch.far(bytes);
        const std::vector<std::uint64_t> parts =
            sketch.parts(bytes, one || work.atomic || work.immediate ? 1 : 3);
        return fmt::format(" local={}{}",
                           work.brings ? sketch.sinks(domain, parts)
                                       : sketch.sources(domain, parts),
                           remote ? " remote=" + far.piece(bytes) : "");
    }
    // REQ-31: the tester may have to send the same bytes again, so nothing else writes to them.
    const std::string local = work.brings ? fmt::format("p[{} +{}]", sketch.near(bytes), bytes)
                                          : fmt::format("u[{} +{}]", sketch.constant(bytes), bytes);
    if (!remote) return fmt::format(" local={}", local);
    const Place there = work.atomic
                            ? sketch.word(domain)
                            : Place{fmt::format("t{}", domain), sketch.target(domain, bytes)};
    return fmt::format(" local={} remote={}", local, there.piece(bytes));
}

// One work request of either side; its receive is there, or comes later (RNR-01).
void exchange(Sketch& sketch, Qp& qp, bool last) {
    const Features& features = sketch.features();
    const bool of_dut = sketch.percent(50);
    const Work work = some_work(sketch);
    const std::uint64_t bytes = work.atomic ? 8 : sketch.length();
    sketch.count(bytes);
    const std::uint64_t received = sketch.next_id();
    const std::string receive_line =
        work.receives ? receive(sketch, qp, !of_dut, received, bytes) : std::string{};
    const bool late = work.receives && features.unready && sketch.percent(20);
    if (work.receives && !late) sketch.say(receive_line);
    const std::uint64_t id = sketch.next_id();
    const std::string_view side = of_dut ? "dut   " : "tester";
    const auto post = [&](bool one) {
        return fmt::format("{} post {}{} id={}{}", side, of(qp), work.operation, id,
                           pieces(sketch, qp, work, of_dut, bytes, one));
    };
    std::string line = post(false);
    constexpr std::size_t operands = std::string_view(" compare=0 swap=9").size();
    const std::size_t columns = work.atomic ? kColumns - operands : kColumns;
    if (line.size() > columns) line = post(true);
    if (work.atomic && line.size() > columns) { // its answer goes anywhere
        const Place word = of_dut ? sketch.far_word() : sketch.word(qp.domain);
        line = fmt::format("{} post {}{} id={} len=8 remote={}", side, of(qp), work.operation, id,
                           word.piece(bytes));
    }
    if (work.immediate) line = with_option(std::move(line), "imm=0xA5B6C7D8");
    if (work.immediate && line.find(" imm=") == std::string::npos) line += " imm=7";
    if (work.operation == "ATOMIC_FETCH_AND_ADD")
        line += fmt::format(" add={}", sketch.random().below(1000));
    if (work.operation == "ATOMIC_CMP_AND_SWP") {
        constexpr std::size_t most = std::string_view(" compare=0 swap=999").size();
        const std::uint64_t limit = line.size() + most <= kColumns ? 1000 : 10;
        line += fmt::format(" compare=0 swap={}", sketch.random().below(limit));
    }
    const bool silent = of_dut && features.unsignaled && !last && sketch.percent(25);
    if (silent) line = with_option(std::move(line), "unsignaled");
    if (of_dut && sketch.percent(15)) line = with_option(std::move(line), "fence");
    if (!work.brings && sketch.percent(10)) line = with_option(std::move(line), "se");
    const bool sends = of_dut && !work.brings && bytes > 0 && bytes <= kInlineBytes;
    if (sends && features.pieces && sketch.reach().inline_data && sketch.percent(30))
        line = with_option(std::move(line), "inline");
    sketch.say(std::move(line));
    if (late) {
        sketch.wait(std::chrono::microseconds(100 + sketch.random().below(2000)));
        sketch.say(receive_line);
    }
    if (!last || !qp.known || !sketch.percent(50)) return;
    if (features.losses) sketch.pass(std::chrono::milliseconds(200));
    sketch.say(fmt::format("{} done {}send id={} within 60s", side, of(qp), id));
    if (work.receives)
        sketch.say(fmt::format("{} done {}recv id={} within 60s", of_dut ? "tester" : "dut   ",
                               of(qp), received));
}

// Most of what a queue holds, of either side, so that what counts messages in few bits shows.
void exchange_many(Sketch& sketch, const Qp& qp) {
    const std::uint64_t count = 65 + sketch.random().below(30);
    const std::uint64_t bytes = 1 + sketch.random().below(8);
    const std::uint64_t first = sketch.next_ids(count);
    const std::uint64_t last = first + count - 1;
    const bool of_dut = sketch.percent(60);
    const std::uint64_t local = of_dut ? sketch.source(qp.domain, bytes) : sketch.constant(bytes);
    const std::string memory = of_dut
                                   ? fmt::format("local=s{}[{} +{}] remote={}", qp.domain, local,
                                                 bytes, sketch.far(bytes).piece(bytes))
                                   : fmt::format("local=u[{} +{}] remote=t{}[{} +{}]", local, bytes,
                                                 qp.domain, sketch.target(qp.domain, bytes), bytes);
    const std::string_view side = of_dut ? "dut   " : "tester";
    sketch.say(fmt::format("{} post {}RDMA_WRITE id={}..{} {}", side, of(qp), first, last, memory));
    sketch.say(fmt::format("{} done {}send id={} within 60s", side, of(qp), last));
    sketch.pass(std::chrono::milliseconds(200));
    sketch.count(count * bytes);
}

void write_memory(Sketch& sketch, Qp& qp) {
    constexpr std::array<std::string_view, 4> patterns{"zero", "ones", "random",
                                                       "hex\"DEADBEEF01\""};
    const std::string_view pattern = sketch.random().pick(patterns);
    const std::uint64_t bytes = pattern.starts_with("hex") ? 5 : 1 + sketch.random().below(300);
    sketch.say(fmt::format("dut    write t{}[{} +{}] = {}", qp.domain,
                           sketch.target(qp.domain, bytes), bytes, pattern));
}

void change_rnr_timer(Sketch& sketch, Qp& qp) {
    sketch.say(fmt::format("dut    modify {}min_rnr_timer={}", of(qp), sketch.rnr_code()));
}

// N-16: a queue may hold fewer at once, and tells so once more; or later, when messages have taken
// the receives that are posted now.
void rearm(Sketch& sketch, Qp& qp) {
    const std::uint64_t limit = 1 + sketch.random().below(4);
    for (std::uint64_t more = sketch.percent(50) ? limit : 0; more > 0; --more)
        post_shared_receive(sketch);
    send_pending(sketch, qp);
    sketch.say(fmt::format("dut    rearm q limit={}", limit));
}

} // namespace

void begin_traffic(Sketch& sketch, const Qp& qp) {
    if (!sketch.features().losses) return;
    const std::uint64_t rules = 1 + sketch.random().below(4);
    const std::string whose = qp.name.empty() ? std::string{} : fmt::format(" qp={}", qp.name);
    for (std::uint64_t i = 0; i < rules; ++i) {
        const std::string action = damage_of(sketch);
        const std::string_view from = sketch.percent(50) ? "dut" : "tester";
        const std::string_view victims = victims_of(sketch);
        const std::uint64_t tenths = 1 + sketch.random().below(4);
        sketch.say(fmt::format("fault  {} when{} from={}{} p=0.{} first={}", action, whose, from,
                               victims, tenths, 1 + sketch.random().below(kRetries / rules)));
    }
}

void traffic(Sketch& sketch, Qp& qp) {
    if (qp.posted >= 40) return;
    if (sketch.features().volume && qp.known && sketch.percent(40)) {
        ++qp.posted;
        return exchange_many(sketch, qp);
    }
    const std::uint64_t count = 1 + sketch.random().below(sketch.features().bursts ? 8 : 2);
    for (std::uint64_t i = 0; i < count; ++i) {
        ++qp.posted;
        exchange(sketch, qp, i + 1 == count);
    }
}

void interfere(Sketch& sketch, Qp& qp) {
    const Features& features = sketch.features();
    const bool lives = !qp.dead && qp.known && !qp.early && is_reliable(qp.talk);
    // The faults of such traffic befall all packets.
    const bool greets = features.greetings && std::ranges::none_of(sketch.qps(), [](const Qp& one) {
                            return one.talk == Talk::Peers;
                        });
    const std::array<Step, 10> steps{{
        {40, true, write_memory},
        {40, greets, greet},
        {10, true, [](Sketch& s, Qp&) { s.wait(std::chrono::milliseconds(1)); }},
        {10, lives, change_rnr_timer},
        {20, true, drain},
        {4, true, end},
        {20, features.reconnects, reconnect},
        {10, features.rights, change_rights},
        {60, features.notices, use_notices},
        {10, qp.shared && sketch.reach().events, rearm},
    }};
    take_one(sketch, qp, steps);
}

} // namespace veriroce::explorer
