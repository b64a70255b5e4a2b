// Traffic between the tester's engine and the device, over a network that does
// damage; and what an application does beside it.
#include "conformance/explorer/talk.hpp"

#include <array>

#include <fmt/format.h>

namespace veriroce::explorer {
namespace {

std::string damage_of(Sketch& sketch) {
    constexpr std::array<std::string_view, 8> actions{
        "drop",        "drop",         "duplicate",    "duplicate n=2 after=100us",
        "delay 300us", "reorder by=1", "reorder by=2", "corrupt field=psn"};
    return std::string(sketch.random().pick(actions));
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
    if (die < 2 && features.reads) return {.operation = "RDMA_READ", .brings = true};
    if (die == 2 && features.atomics)
        return {.operation = "ATOMIC_FETCH_AND_ADD", .brings = true, .atomic = true};
    if (die < 6 && features.writes) {
        if (immediate)
            return {.operation = "RDMA_WRITE_WITH_IMM", .receives = true, .immediate = true};
        return {.operation = "RDMA_WRITE"};
    }
    if (immediate) return {.operation = "SEND_WITH_IMM", .receives = true, .immediate = true};
    return {.operation = "SEND", .receives = true};
}

// The memory of both ends that a post line names.
std::string pieces(Sketch& sketch, const Qp& qp, const Work& work, bool of_dut,
                   std::uint64_t bytes) {
    const bool remote = work.operation.starts_with("RDMA") || work.atomic;
    if (bytes == 0) {
        const std::string there = of_dut ? "r" : fmt::format("t{}", qp.domain);
        return remote ? fmt::format(" len=0 remote={}", there) : " len=0";
    }
    const std::uint32_t domain = qp.domain;
    std::string far =
        fmt::format("r[{} +{}]", work.atomic ? sketch.atomic_far() : sketch.far(bytes), bytes);
    if (of_dut) {
        const std::string local =
            work.brings ? fmt::format("k{}[{} +{}]", domain, sketch.sink(domain, bytes), bytes)
                        : fmt::format("s{}[{} +{}]", domain, sketch.source(domain, bytes), bytes);
        return fmt::format(" local={}{}", local, remote ? " remote=" + far : "");
    }
    if (work.brings) far = fmt::format("p[{} +{}]", sketch.near(bytes), bytes);
    if (!remote) return fmt::format(" local={}", far);
    const std::uint64_t target =
        work.atomic ? sketch.atomic_target(domain) : sketch.target(domain, bytes);
    return fmt::format(" local={} remote=t{}[{} +{}]", far, domain, target, bytes);
}

} // namespace

void begin_traffic(Sketch& sketch, const Qp& qp) {
    if (!sketch.features().losses) return;
    const std::uint64_t rules = 1 + sketch.random().below(3);
    for (std::uint64_t i = 0; i < rules; ++i) {
        sketch.say(fmt::format("fault  {} when qp={} from={} p=0.{} first={}", damage_of(sketch),
                               qp.name, sketch.percent(50) ? "dut" : "tester",
                               1 + sketch.random().below(4), 1 + sketch.random().below(2)));
    }
}

void traffic(Sketch& sketch, Qp& qp) {
    if (qp.posted >= 40) return;
    ++qp.posted;
    const bool of_dut = sketch.percent(50);
    const Work work = some_work(sketch);
    const std::uint64_t bytes = work.atomic ? 8 : sketch.length();
    sketch.count(bytes);
    const std::uint64_t received = sketch.next_id();
    if (work.receives) sketch.say(receive(sketch, qp, !of_dut, received, bytes));
    const std::uint64_t id = sketch.next_id();
    const std::string_view side = of_dut ? "dut   " : "tester";
    std::string line = fmt::format("{} post {}{} id={}{}", side, of(qp), work.operation, id,
                                   pieces(sketch, qp, work, of_dut, bytes));
    if (work.immediate) line += fmt::format(" imm=0x{:X}", sketch.random().next() >> 32);
    if (work.atomic) line += fmt::format(" add={}", sketch.random().below(1000));
    sketch.say(std::move(line));
    if (!qp.known || !sketch.percent(50)) return;
    if (sketch.features().losses) sketch.pass(std::chrono::milliseconds(200));
    sketch.say(fmt::format("{} done {}send id={} within 60s", side, of(qp), id));
    if (work.receives)
        sketch.say(fmt::format("{} done {}recv id={} within 60s", of_dut ? "tester" : "dut   ",
                               of(qp), received));
}

void interfere(Sketch& sketch, Qp& qp) {
    constexpr std::array<std::string_view, 4> patterns{"zero", "ones", "random",
                                                       "hex\"DEADBEEF01\""};
    const std::string_view pattern = sketch.random().pick(patterns);
    const std::uint64_t bytes = pattern.starts_with("hex") ? 5 : 1 + sketch.random().below(300);
    const Features& features = sketch.features();
    switch (sketch.random().below(16)) {
    case 0:
    case 1:
    case 2:
    case 3:
        return sketch.say(fmt::format("dut    write t{}[{} +{}] = {}", qp.domain,
                                      sketch.target(qp.domain, bytes), bytes, pattern));
    case 4: return sketch.wait(std::chrono::milliseconds(1));
    case 5:
        if (qp.dead || !qp.known || qp.early || !is_reliable(qp.talk)) return;
        return sketch.say(fmt::format("dut    modify {}min_rnr_timer={}", of(qp),
                                      features.timers ? sketch.random().below(32)
                                                      : 1 + sketch.random().below(12)));
    case 6:
    case 7: return drain(sketch, qp);
    case 8:
        if (sketch.percent(30)) end(sketch, qp);
        return;
    case 9:
    case 10:
        if (features.reconnects) reconnect(sketch, qp);
        return;
    case 11:
        if (features.rights) change_rights(sketch, qp);
        return;
    case 12:
    case 13: return use_notices(sketch, qp);
    default: return;
    }
}

} // namespace veriroce::explorer
