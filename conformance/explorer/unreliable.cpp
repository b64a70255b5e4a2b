// UC and UD: no answers, so completions and memory alone tell what the device did.
#include "conformance/explorer/talk.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include <fmt/format.h>

namespace veriroce::explorer {
namespace {

constexpr std::uint64_t kGrhBytes = 40; // before the data of a datagram (EXT-05)
constexpr std::string_view kImmediate = " imm=0x11223344";

std::string data_of(std::uint64_t from, std::uint64_t bytes) {
    return bytes == 0 ? "len=0" : fmt::format("data=u[{} +{}]", from, bytes);
}

struct Sink {
    std::uint64_t id = 0;
    std::uint64_t offset = 0;
    std::uint64_t bytes = 0;
    bool whole = true; // one piece
};

// In two pieces if the QP takes them: then no line can name what it holds, and the model looks.
Sink post_unreliable_receive(Sketch& sketch, const Qp& qp, std::uint64_t bytes) {
    const bool pieces = sketch.features().pieces && bytes > 1 && sketch.percent(30);
    const std::uint64_t first =
        pieces ? 1 + sketch.random().below(std::min<std::uint64_t>(bytes - 1, 2 * kGrhBytes))
               : bytes;
    const Sink sink{.id = sketch.next_id(),
                    .offset = sketch.sink(qp.domain, first),
                    .bytes = bytes,
                    .whole = !pieces};
    std::string line = fmt::format("dut    recv {}id={} local=k{}[{} +{}]", of(qp), sink.id,
                                   qp.domain, sink.offset, first);
    if (pieces) {
        line += fmt::format(",k{}[{} +{}]", qp.domain, sketch.sink(qp.domain, bytes - first),
                            bytes - first);
    }
    sketch.say(std::move(line));
    return sink;
}

void expect_received(Sketch& sketch, const Qp& qp, const Sink& sink, std::uint64_t from,
                     std::uint64_t bytes, std::uint64_t before, bool immediate = false) {
    sketch.say(fmt::format("dut    done {}recv id={} len={}{}", of(qp), sink.id, before + bytes,
                           immediate ? kImmediate : ""));
    if (bytes == 0 || !sink.whole) return;
    sketch.say(fmt::format("expect k{}[{} +{}] == u[{} +{}]", qp.domain, sink.offset + before,
                           bytes, from, bytes));
}

// --- UC -----------------------------------------------------------------------------------------

// The packets of a SEND or WRITE, a line each.
std::vector<std::string> packets_of(Sketch& sketch, const Qp& qp, std::string_view name,
                                    std::string_view remote, std::uint64_t from,
                                    std::uint64_t bytes, bool immediate = false) {
    const std::int64_t count = sketch.packets_of(bytes);
    std::vector<std::string> lines;
    std::uint64_t done = 0;
    for (std::int64_t i = 0; i < count; ++i) {
        const std::uint64_t part = std::min<std::uint64_t>(sketch.mtu(), bytes - done);
        const bool brings = immediate && i + 1 == count;
        std::string line =
            fmt::format("{}{}_{}{} psn={}{} {}{}", sends(qp), name, place_of(i, count),
                        brings ? "_WITH_IMM" : "", qp.psn + i, i == 0 ? remote : "",
                        data_of(from + done, part), brings ? kImmediate : "");
        if (i == 0 && count > 1 && !remote.empty()) line += fmt::format(" dmalen={}", bytes);
        lines.push_back(with_marks(sketch, std::move(line)));
        done += part;
    }
    return lines;
}

// What a lost message left open ends with the next SEND, which takes the receive.
void send_after_loss(Sketch& sketch, Qp& qp, const Sink& sink) {
    const std::uint64_t bytes = sketch.random().below(sketch.mtu());
    const std::uint64_t from = sketch.constant(bytes);
    sketch.say(packets_of(sketch, qp, "SEND", "", from, bytes).front());
    ++qp.psn;
    expect_received(sketch, qp, sink, from, bytes, 0);
}

// EXT-06: a message with a gap is lost, and its receive serves the next one.
void send_uc(Sketch& sketch, Qp& qp) {
    const std::uint64_t bytes = std::min<std::uint64_t>(sketch.length(), 4 * sketch.mtu());
    const std::uint64_t from = sketch.constant(bytes);
    const bool immediate = sketch.features().immediate && sketch.percent(30);
    const Sink sink = post_unreliable_receive(sketch, qp, 4 * sketch.mtu());
    const auto lines = packets_of(sketch, qp, "SEND", "", from, bytes, immediate);
    if (sketch.features().gaps && lines.size() > 1 && sketch.percent(50)) {
        const std::size_t lost = sketch.random().below(lines.size());
        for (std::size_t i = 0; i < lines.size(); ++i) {
            if (i != lost) sketch.say(lines[i]);
        }
        qp.psn += static_cast<std::int64_t>(lines.size());
        return send_after_loss(sketch, qp, sink);
    }
    const std::size_t spoiled = sketch.features().dropped && sketch.percent(40)
                                    ? sketch.random().below(lines.size())
                                    : lines.size();
    for (std::size_t i = 0; i < lines.size(); ++i) {
        if (i == spoiled) {
            if (auto copy = damaged(lines[i], damage(sketch))) sketch.say(*std::move(copy));
        }
        sketch.say(lines[i]);
    }
    qp.psn += static_cast<std::int64_t>(lines.size());
    expect_received(sketch, qp, sink, from, bytes, 0, immediate);
}

// BTH-05: a packet of another service says nothing to the QP, whatever it asks for.
void send_of_other_service(Sketch& sketch, const Qp& qp) {
    constexpr std::array<int, 4> services{0x00, 0x40, 0x60, 0xA0}; // RC, RD, UD, XRC
    constexpr int send_only = 0x04;
    constexpr int write_only = 0x0A;
    const bool write = sketch.percent(50);
    const std::string remote = write ? fmt::format("va=t{0} rkey=t{0} ", qp.domain) : std::string();
    sketch.say(fmt::format("{}{} psn={} {}len=8 opcode={}", sends(qp),
                           write ? "RDMA_WRITE_ONLY" : "SEND_ONLY", qp.psn, remote,
                           sketch.random().pick(services) + (write ? write_only : send_only)));
}

// A device may lose it, for example while it fetches the page, so no line expects its data. One
// that lost a packet on the way takes no receive.
void write_uc(Sketch& sketch, Qp& qp) {
    const std::uint64_t bytes = sketch.length();
    const std::uint64_t from = sketch.constant(bytes);
    const std::uint64_t to = sketch.target(qp.domain, bytes);
    const std::string remote = fmt::format(" va=t{0}+{1} rkey=t{0}", qp.domain, to);
    const std::int64_t count = sketch.packets_of(bytes);
    const bool loses = sketch.features().gaps && count > 1 && sketch.percent(50);
    const bool immediate = loses && sketch.features().immediate && sketch.percent(50);
    const std::int64_t lost =
        loses ? static_cast<std::int64_t>(sketch.random().below(static_cast<std::uint64_t>(count)))
              : count;
    std::optional<Sink> sink;
    if (immediate) sink = post_unreliable_receive(sketch, qp, sketch.mtu());
    const auto lines = packets_of(sketch, qp, "RDMA_WRITE", remote, from, bytes, immediate);
    for (std::size_t i = 0; i < lines.size(); ++i) {
        if (std::cmp_not_equal(i, lost)) sketch.say(lines[i]);
    }
    qp.psn += count;
    if (sink) send_after_loss(sketch, qp, *sink);
}

void post_uc(Sketch& sketch, Qp& qp) {
    const std::uint64_t bytes = sketch.length();
    const std::uint64_t id = sketch.next_id();
    const bool write = sketch.percent(50);
    const std::string piece =
        fmt::format("s{}[{} +{}]", qp.domain, sketch.source(qp.domain, bytes), bytes);
    const std::string local = bytes == 0 ? std::string("len=0") : "local=" + piece;
    const std::string remote = !write       ? ""
                               : bytes == 0 ? " remote=r"
                                            : " remote=" + sketch.far(bytes).piece(bytes);
    const bool immediate = sketch.features().immediate && sketch.percent(30);
    const std::string name =
        fmt::format("{}{}", write ? "RDMA_WRITE" : "SEND", immediate ? "_WITH_IMM" : "");
    const std::string psn = qp.counts_on ? fmt::format(" psn={}", qp.dut_psn) : std::string{};
    std::string line = fmt::format("dut    post {}{} id={} {}{}{}", of(qp), name, id, local, remote,
                                   immediate ? " imm=7" : "");
    if (sketch.percent(20)) line = with_option(std::move(line), "se");
    sketch.say(std::move(line));
    sketch.say(fmt::format("{}{}{} len={}{}", expects(qp), name, psn, bytes,
                           bytes == 0 ? "" : " data=" + piece));
    sketch.say(fmt::format("dut    done {}send id={}", of(qp), id));
    qp.dut_psn += sketch.packets_of(bytes);
}

// A request that fails by itself brings an unreliable QP to SQE, from where it goes on.
void fail_alone(Sketch& sketch, Qp& qp) {
    const std::uint64_t id = sketch.next_id();
    sketch.say(fmt::format("dut    post {}SEND id={} local=s{}[{} +8] lkey=abs:0x5A5A00", of(qp),
                           id, qp.domain, sketch.source(qp.domain, 8)));
    sketch.say(fmt::format("dut    done {}send id={} status=FAILED", of(qp), id));
    sketch.say(fmt::format("dut    modify {}state=RTS", of(qp)));
    qp.counts_on = false;
}

// A stranger's datagram is as good as any.
std::string damage_of_datagram(Sketch& sketch) {
    std::string fault = damage(sketch);
    return fault.contains("ip.src") ? "icrc=bad" : fault;
}

// --- UD -----------------------------------------------------------------------------------------

// EXT-05
void send_ud(Sketch& sketch, Qp& qp) {
    const std::uint64_t bytes = std::min<std::uint64_t>(sketch.length(), sketch.mtu());
    const std::uint64_t from = sketch.constant(bytes);
    const bool immediate = sketch.features().immediate && sketch.percent(30);
    // Just large enough, or for any.
    const bool exact = sketch.percent(50);
    const Sink sink =
        post_unreliable_receive(sketch, qp, kGrhBytes + (exact ? bytes : sketch.mtu()));
    const std::string key = fmt::format(" qkey=0x{:X}", qp.queue_key);
    if (exact && bytes < sketch.mtu() && sketch.percent(20)) { // it takes none that is too long
        const std::uint64_t over = 1 + sketch.random().below(sketch.mtu() - bytes);
        sketch.say(
            fmt::format("{}SEND_ONLY psn={} len={}{}", sends(qp), qp.psn, bytes + over, key));
    }
    if (sketch.features().dropped && sketch.percent(30)) {
        const bool changed = qp.old_queue_key != qp.queue_key && sketch.percent(50);
        const std::uint32_t wrong =
            changed ? qp.old_queue_key : qp.queue_key ^ (1U << sketch.random().below(32));
        const std::string fault = sketch.percent(30)
                                      ? fmt::format(" qkey=0x{:X}", wrong)
                                      : fmt::format("{} {}", key, damage_of_datagram(sketch));
        sketch.say(fmt::format("{}SEND_ONLY psn={} len=8{}", sends(qp), qp.psn, fault));
    }
    // Gaps mean nothing to datagrams.
    if (sketch.percent(20)) qp.psn += static_cast<std::int64_t>(sketch.random().below(1000));
    std::string line =
        fmt::format("{}SEND_ONLY{} psn={} {}{}{}", sends(qp), immediate ? "_WITH_IMM" : "", qp.psn,
                    data_of(from, bytes), key, immediate ? kImmediate : "");
    // Anyone may send one, with any priority.
    constexpr std::array<std::string_view, 5> headers{"ip.dscp=26", "ip.ttl=1", "ip.ecn=1",
                                                      "srcqp=abs:0xFFFFFE", "srcqp=abs:0x000002"};
    line = sketch.percent(30) ? with_option(std::move(line), sketch.random().pick(headers))
                              : with_marks(sketch, std::move(line));
    sketch.say(std::move(line));
    ++qp.psn;
    expect_received(sketch, qp, sink, from, bytes, kGrhBytes, immediate);
}

void post_ud(Sketch& sketch, Qp& qp) {
    const std::uint64_t most = sketch.mtu();
    const std::uint64_t bytes =
        sketch.percent(30) ? most - sketch.random().below(5) : 1 + sketch.random().below(most);
    const std::uint64_t id = sketch.next_id();
    const bool immediate = sketch.features().immediate && sketch.percent(30);
    const std::string_view rest = immediate ? "_WITH_IMM" : "";
    std::string expected = fmt::format("{}SEND_ONLY{} len={} srcqp=dut", expects(qp), rest, bytes);
    const std::vector<std::uint64_t> parts = sketch.parts(bytes, 3);
    const std::string local = sketch.sources(qp.domain, parts);
    if (parts.size() == 1) expected += " data=" + local; // of several the model looks at the data
    std::string line = fmt::format("dut    post {}SEND{} id={} local={}{}", of(qp), rest, id, local,
                                   immediate ? " imm=7" : "");
    // EXT-05, ENC-12: as its work request says; the model knows what that comes to.
    if (sketch.percent(25)) {
        const std::uint64_t key = sketch.random().next() >> 32;
        line = with_option(std::move(line), fmt::format("qkey=0x{:X}", key));
    }
    if (sketch.reach().datagram_paths && sketch.percent(25))
        line = with_option(std::move(line), fmt::format("dscp={}", sketch.random().below(64)));
    if (sketch.features().notices && sketch.percent(20)) line = with_option(std::move(line), "se");
    sketch.say(std::move(line));
    sketch.say(std::move(expected));
    sketch.say(fmt::format("dut    done {}send id={}", of(qp), id));
}

// EXT-05: the Q_Key of the receives that follow.
void change_queue_key(Sketch& sketch, Qp& qp) {
    qp.old_queue_key = std::exchange(
        qp.queue_key, static_cast<std::uint32_t>(1 + sketch.random().below(0x7FFF'FFFF)));
    sketch.say(fmt::format("dut    modify {}qkey=0x{:X}", of(qp), qp.queue_key));
}

} // namespace

void post_idle_receives(Sketch& sketch, const Qp& qp) {
    if (!sketch.percent(60)) return;
    for (std::uint64_t more = 1 + sketch.random().below(3); more > 0; --more)
        (void)post_unreliable_receive(sketch, qp, sketch.mtu());
}

void talk_unreliably(Sketch& sketch, Qp& qp) {
    if (qp.dead || qp.posted >= 40) return;
    ++qp.posted;
    if (qp.early && sketch.percent(20)) {
        qp.early = false;
        return sketch.say(fmt::format("dut    modify {}state=RTS", of(qp)));
    }
    if (qp.talk == Talk::Datagrams && !qp.early && sketch.percent(12))
        return change_queue_key(sketch, qp);
    const bool same_key = qp.queue_key == qp.old_queue_key;
    if (sketch.features().unreliable && !qp.early && same_key && sketch.percent(8))
        return fail_alone(sketch, qp);
    const bool asks = qp.early || sketch.percent(60);
    if (qp.talk == Talk::Datagrams) return asks ? send_ud(sketch, qp) : post_ud(sketch, qp);
    if (!asks) return post_uc(sketch, qp);
    if (sketch.features().dropped && sketch.percent(8)) send_of_other_service(sketch, qp);
    sketch.percent(60) ? send_uc(sketch, qp) : write_uc(sketch, qp);
}

} // namespace veriroce::explorer
