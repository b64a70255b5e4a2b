// What the tester asks next.
#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "conformance/explorer/requests.hpp"

namespace veriroce::explorer {
namespace {

// ATM-04: two atomics, with PSNs of a READ between them, and both once more.
void send_replays(Sketch& sketch, Qp& qp) {
    constexpr std::array<std::int64_t, 8> distances{1, 2, 3, 7, 15, 31, 63, 127};
    const std::int64_t count = sketch.random().pick(distances);
    const std::uint64_t bytes = static_cast<std::uint64_t>(count) * sketch.mtu();
    if (!sketch.has_room(bytes)) return ask_legally(sketch, qp);
    qp.pending.emplace_back("wait 2ms"); // for the answers of those before
    std::vector<std::string> atomics;
    const auto atomic = [&] {
        const std::string where = sketch.word(qp.domain).fields();
        const std::string& line =
            atomics.emplace_back(fmt::format("{}FETCH_ADD psn={} {} add={}", sends(qp), qp.psn,
                                             where, 1 + sketch.random().below(1000)));
        qp.pending.push_back(line);
        expect(sketch, qp, 100, fmt::format("{}ATOMIC_ACKNOWLEDGE psn={}", expects(qp), qp.psn));
        qp.sent.push_back(
            {.packets = {line}, .first_psn = qp.psn, .last_psn = qp.psn, .atomic = true});
        ++qp.psn;
    };
    atomic();
    qp.pending.push_back(
        fmt::format("{0}RDMA_READ_REQUEST psn={1} va=t{2}+{3} rkey=t{2} dmalen={4}", sends(qp),
                    qp.psn, qp.domain, sketch.target(qp.domain, bytes), bytes));
    expect(sketch, qp, 100,
           fmt::format("{}RDMA_READ_RESPONSE psn={} len={}", expects(qp), qp.psn, bytes));
    qp.psn += count;
    atomic();
    if (sketch.percent(50)) std::swap(atomics.front(), atomics.back());
    for (const std::string& line : atomics) { // a duplicate need not be answered at once
        qp.pending.emplace_back("wait 1ms");
        qp.pending.push_back(line);
    }
    qp.unheard = 0;
    sketch.count(bytes);
}

// ATM-04, RDR-04: what a QP keeps to answer a duplicate, another QP's requests do not take away.
void repeat_behind_another(Sketch& sketch, Qp& qp) {
    const auto is_able = [&](const Qp& one) {
        return &one != &qp && one.talk == Talk::TesterAsks && one.known && !one.dead &&
               !one.early && one.may_read && one.pending.empty();
    };
    const auto other = std::ranges::find_if(sketch.qps(), is_able);
    if (other == sketch.qps().end() || qp.sent.empty()) return ask_legally(sketch, qp);
    send_pending(sketch, qp);
    constexpr std::array<std::int64_t, 8> counts{2, 4, 8, 16, 16, 17, 17, 33};
    const std::int64_t count = sketch.random().pick(counts);
    const auto region = fmt::format("f{}", other->domain);
    sketch.wait(std::chrono::milliseconds(2)); // for the answers to its requests
    sketch.say(fmt::format("repeat i in {}..{}", other->psn, other->psn + count - 1));
    sketch.say(fmt::format("{}RDMA_READ_REQUEST psn=i va={} rkey={} dmalen=8", sends(*other),
                           region, region));
    sketch.say(fmt::format("{}RDMA_READ_RESPONSE_ONLY psn=i", expects(*other)));
    sketch.say("end");
    constexpr wire::Duration most_of_each = std::chrono::milliseconds(20);
    sketch.pass(count * most_of_each);
    other->psn += count;
    other->unheard = 0;
    const std::size_t back = sketch.random().below(std::min<std::size_t>(qp.sent.size(), 2));
    queue(qp, (qp.sent.rbegin() + static_cast<std::ptrdiff_t>(back))->packets);
    qp.pending.emplace_back("wait 1ms");
}

// Hundreds of short WRITEs, so that what counts messages in few bits shows.
void send_volume(Sketch& sketch, Qp& qp) {
    const std::uint64_t count = 200 + sketch.random().below(120);
    const auto packets = static_cast<std::int64_t>(count);
    const std::uint64_t bytes = 1 + sketch.random().below(16);
    const std::uint64_t to = sketch.target(qp.domain, bytes);
    send_pending(sketch, qp);
    sketch.say(fmt::format("repeat i in {}..{}", qp.psn, qp.psn + packets - 1));
    sketch.say(fmt::format("{}RDMA_WRITE_ONLY psn=i va=t{}+{} rkey=t{} len={}", sends(qp),
                           qp.domain, to, qp.domain, bytes));
    sketch.say("end");
    qp.psn += packets;
    ask_legally(sketch, qp);
}

// CNP-01, CNP-04: a device that answered one mark answers any later one, some time after it.
void congest(Sketch& sketch, Qp& qp) {
    constexpr wire::Duration apart = std::chrono::milliseconds(50);
    const std::uint64_t bytes = sketch.percent(40) ? 1 + sketch.random().below(sketch.mtu())
                                                   : 3 * std::uint64_t{sketch.mtu()};
    if (!sketch.has_room(bytes)) return ask_legally(sketch, qp);
    send_pending(sketch, qp);
    const auto write = [&](std::string_view place, std::uint64_t part) {
        const bool begins = place == "ONLY" || place == "FIRST";
        std::string line = fmt::format("{}RDMA_WRITE_{} psn={}", sends(qp), place, qp.psn++);
        if (begins) line += remote_target(sketch, qp, bytes) + fmt::format(" dmalen={}", bytes);
        return line + fmt::format(" len={}", part);
    };
    sketch.say(fmt::format("{}RDMA_WRITE_ONLY psn={}{} len=8 ip.ecn=3", sends(qp), qp.psn++,
                           remote_target(sketch, qp, 8)));
    std::vector<std::string> lines;
    if (bytes <= sketch.mtu()) {
        lines = {write("ONLY", bytes)};
    } else {
        for (const std::string_view place : {"FIRST", "MIDDLE", "LAST"})
            lines.push_back(write(place, sketch.mtu()));
    }
    std::string& marked = lines[sketch.random().below(lines.size())];
    marked += " ip.ecn=3";
    const std::array<std::string, 4> others{
        fmt::format("ip.dscp={}", sketch.random().below(64)),
        fmt::format("ip.ttl={}", 1 + sketch.random().below(255)),
        fmt::format("udp.sport={}", 1024 + sketch.random().below(64'512)), "ackreq"};
    if (sketch.percent(60)) marked = with_option(std::move(marked), sketch.random().pick(others));
    const auto say_all = [&] {
        for (const std::string& line : lines)
            sketch.say(line);
    };
    sketch.say("any");
    sketch.say(fmt::format("{}CNP", expects(qp)));
    sketch.say("wait 50ms");
    say_all();
    sketch.say(fmt::format("{}CNP", expects(qp)));
    sketch.say("or"); // it sends none
    say_all();
    sketch.say("end");
    sketch.pass(apart + kSilence);
    sketch.count(bytes);
}

} // namespace

void ask(Sketch& sketch, Qp& qp) {
    if (qp.dead) return speak_to_the_dead(sketch, qp);
    if (std::exchange(qp.begins_with_send, false)) return send_small(sketch, qp, false);
    const Features& features = sketch.features();
    if (qp.early && sketch.percent(15)) {
        qp.pending.push_back(fmt::format("dut    modify {}state=RTS", of(qp)));
        qp.early = false;
        return;
    }
    const Qp& first = sketch.qps().front();
    if (features.twins && &qp != &first && qp.psn == 0 && !qp.early) {
        begin_alike(sketch, qp, first.sent);
        if (!qp.pending.empty()) return;
    }
    const bool rights = qp.may_read && qp.may_write && qp.domain == 1 && !qp.shared && !qp.early;
    constexpr std::uint32_t resources = 3;
    const bool replays =
        features.replays && qp.may_read && qp.may_atomic && sketch.reach().reads >= resources;
    const bool writes = qp.may_write && qp.known && !qp.early;
    const bool several = sketch.qps().size() > 1 && qp.known;
    const bool again = features.duplicates && qp.known && !qp.early && qp.unheard == 0;
    const std::array<Step, 15> steps{{
        {52, true, ask_legally},
        {6, features.congestion && writes, congest},
        {12, features.windows && qp.known && qp.open.empty() && rights && !qp.drains, use_window},
        {8, replays, send_replays},
        {10, features.duplicates, duplicate},
        {4, features.duplicates && several, repeat_behind_another},
        {7, features.gaps, gap},
        {5, again, ask_again},
        {7, features.unready && features.sends, unready},
        {8, features.dropped, dropped},
        {3, features.illegal, ask_illegally},
        {2, features.volume && qp.may_write && qp.known, send_volume},
        {1, features.volume, post_many_receives},
        {2, features.sends, [](Sketch& s, Qp& q) { post_receive(s, q, s.length()); }},
        {3, features.gaps && qp.known, far_packet},
    }};
    take_one(sketch, qp, steps);
}

void begin_alike(Sketch& sketch, Qp& qp, const std::vector<Sent>& former) {
    constexpr std::size_t most = 4;
    constexpr std::string_view arrow = "> ";
    // The same packet on this QP.
    const auto here = [&](std::string& line) {
        line.replace(0, line.find(arrow) + arrow.size(), sends(qp));
        return line.size() <= kColumns;
    };
    for (std::size_t i = 0; i < std::min(former.size(), most); ++i) {
        const Sent& one = former[i];
        const bool writes =
            one.packets.front().contains("RDMA_WRITE") && !one.packets.back().contains("IMM");
        const bool allowed = one.read     ? qp.may_read
                             : one.atomic ? qp.may_atomic
                                          : writes && qp.may_write;
        if (!allowed || one.first_psn != qp.psn) return;
        Sent again = one;
        if (!std::ranges::all_of(again.packets, here) || !std::ranges::all_of(again.variants, here))
            return;
        if (one.read || one.atomic) make_room_for_read(sketch, qp);
        for (std::string& line : again.packets)
            line = with_other_data(std::move(line));
        queue(qp, again.packets);
        qp.psn = one.last_psn + 1;
        qp.sent.push_back(std::move(again));
    }
}

void probe(Sketch& sketch, Qp& qp) {
    if (qp.talk == Talk::Peers) return traffic(sketch, qp);
    if (!is_reliable(qp.talk)) return talk_unreliably(sketch, qp);
    const bool asks = qp.talk != Talk::DutAsks;
    if (asks && !qp.early) {
        for (std::uint64_t more = 1 + sketch.random().below(3); more > 0; --more) {
            ask(sketch, qp);
            send_pending(sketch, qp);
        }
        if (!qp.dead && qp.known)
            send_small(sketch, qp, false);
        else if (!qp.dead)
            ask_legally(sketch, qp);
        send_pending(sketch, qp);
    }
    if (qp.talk == Talk::TesterAsks || qp.dut_dead) return;
    ask_device(sketch, qp);
    answer_all(sketch, qp);
}

} // namespace veriroce::explorer
