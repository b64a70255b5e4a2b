#include "conformance/explorer/sketch.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <ranges>

#include <fmt/format.h>

#include "conformance/explorer/dialogue.hpp"

namespace veriroce::explorer {
namespace {

constexpr std::uint64_t kUsualBytes = std::uint64_t{16} << 10; // of a dialogue on the wire
constexpr std::uint64_t kLargeBytes = std::uint64_t{320} << 10;
constexpr wire::Duration kHostLate = std::chrono::milliseconds(35); // ACK-05: it names no time
constexpr std::uint64_t kGuardBytes = 24;
constexpr std::uint64_t kOtherData = 64; // how far the other data of one line may lie
constexpr std::array<std::uint64_t, 8> kOffsets{0, 1, 3, 8, 63, 64, 4095, 4096};
constexpr std::array<std::uint64_t, 6> kFarOffsets{65'528, 65'535, 65'536, 65'537, 69'632, 70'001};
constexpr std::array<std::uint64_t, 10> kShort{0, 1, 2, 3, 4, 5, 7, 8, 63, 64};
constexpr std::array<std::uint32_t, 8> kFirstPsns{0,        1,        0x7FFFFE, 0x7FFFFF,
                                                  0x800000, 0xFFFFFD, 0xFFFFFE, 0xFFFFFF};
constexpr std::array<std::string_view, 4> kNames{"", "b", "c", "d"};
// The highest bit is that of controlled ones.
constexpr std::array<std::uint32_t, 4> kQueueKeys{0x1234, 0x1234, 0x8000'1234, 0xFFFF'FFFE};
// A wr_id has 64 bits.
constexpr std::array<std::uint64_t, 8> kFirstIds{0, 0, 0, 0, 0, 250, 0x7FFF'FFF0, 0xFFFF'FFF8};

} // namespace

std::string sends(const Qp& qp) {
    return qp.name.empty() ? "> " : qp.name + " > ";
}
std::string expects(const Qp& qp) {
    return qp.name.empty() ? "< " : qp.name + " < ";
}
std::string of(const Qp& qp) {
    return qp.name.empty() ? "" : qp.name + " ";
}

std::string queue_of(const Qp& qp) {
    return fmt::format("i{}", qp.name.empty() ? "a" : qp.name);
}

void Qp::begin_again() {
    psn = dut_psn = 0;
    // What failed has notified the queue. The dialogue does not take the notification, so it must
    // not arm the queue again.
    armed = armed || armed_for_faults;
    known = answers_known = true;
    dead = dut_dead = in_error = false;
    unheard = 0;
    tried_again = 0;
    receives.clear();
    sent.clear();
    open.clear();
    answered.reset();
}

std::string Place::piece(std::uint64_t bytes) const {
    return fmt::format("{}[{} +{}]", region, offset, bytes);
}

std::string Place::fields() const {
    return fmt::format("va={0}+{1} rkey={0}", region, offset);
}

std::string rights_of(Sketch& sketch, Qp& qp) {
    constexpr std::array<std::string_view, 4> rights{"remote_write", "remote_read",
                                                     "remote_read,remote_write", "local_write"};
    const std::string_view right = sketch.random().pick(rights);
    qp.may_read = right.find("remote_read") != std::string_view::npos;
    qp.may_write = right.find("remote_write") != std::string_view::npos;
    qp.may_atomic = false;
    return fmt::format("access={}", right);
}

std::string with_option(std::string line, std::string_view option) {
    if (line.size() + 1 + option.size() <= kColumns) line += fmt::format(" {}", option);
    return line;
}

std::string with_other_data(std::string line) {
    constexpr std::string_view field = "data=";
    const std::size_t at = line.find(field);
    const std::size_t bracket = line.find('[', at); // behind the name of the region
    if (at == std::string::npos || bracket == std::string::npos) return line;
    const std::size_t begin = bracket + 1;
    const std::size_t end = line.find(' ', begin);
    const std::uint64_t offset = std::stoull(line.substr(begin, end - begin));
    return line.replace(begin, end - begin, fmt::format("{}", offset + 1));
}

std::string_view place_of(std::int64_t i, std::int64_t count) {
    const bool last = i + 1 == count;
    if (i == 0) return last ? "ONLY" : "FIRST";
    return last ? "LAST" : "MIDDLE";
}

std::string with_marks(Sketch& sketch, std::string line) {
    const bool congested =
        sketch.features().congestion && line.contains(sketch.marked_kind()) && sketch.percent(60);
    if (congested) {
        constexpr std::array<std::string_view, 6> fields{"ip.ecn=3", "ip.ecn=3", "ip.ecn=3",
                                                         "ip.ecn=3", "ip.ecn=1", "ip.ecn=2"};
        line = with_option(std::move(line), sketch.random().pick(fields));
    }
    if (!sketch.features().marks || !sketch.percent(congested ? 25 : 10)) return line;
    constexpr std::array<std::string_view, 14> marks{
        "migreq=0",   "resv7=1",        "resv7=0x7F",        "resv6=1",    "becn",
        "fecn",       "ip.ecn=3",       "ip.ecn=1",          "ip.dscp=48", "ip.ttl=1",
        "ip.ttl=255", "udp.sport=1024", "udp.checksum=good", "trailer=4"};
    if (sketch.tagged() && sketch.percent(40))
        return with_option(std::move(line), fmt::format("vlan.pcp={}", sketch.random().below(8)));
    if (sketch.address_bits() == 128 && sketch.percent(20))
        return with_option(std::move(line),
                           fmt::format("ip.flow=0x{:X}", sketch.random().below(0x100000)));
    const std::array<std::string, 4> numbers{
        fmt::format("ip.dscp={}", sketch.random().below(64)),
        fmt::format("ip.ttl={}", 1 + sketch.random().below(255)),
        fmt::format("udp.sport={}", 1024 + sketch.random().below(64'512)),
        fmt::format("resv7={}", 1 + sketch.random().below(127))};
    const std::string mark = sketch.percent(60) ? std::string(sketch.random().pick(marks))
                                                : sketch.random().pick(numbers);
    if (congested && mark.starts_with("ip.ecn")) return line;
    return with_option(std::move(line), mark);
}

std::string damage(Sketch& sketch) {
    constexpr std::array<std::string_view, 12> faults{
        "ip.dst=dut+100", "icrc=bad",         "icrc=zero",     "icrc=swapped",
        "tver=1",         "pkey=0x1234",      "pkey=0x7FFE",   "tver=8",
        "destqp=unused",  "ip.src=tester+50", "flip=ackreq:0", "flip=@40:3"};
    sim::Random& random = sketch.random();
    if (sketch.features().checksums && sketch.percent(30))
        return sketch.percent(50) ? "ip.checksum=0"
                                  : fmt::format("ip.checksum={}", random.below(0x10000));
    switch (random.below(8)) {
    case 0:
    case 1: return fmt::format("flip=icrc:{}", random.below(32));
    case 2:
        return sketch.percent(50) ? fmt::format("flip=psn:{}", random.below(24))
                                  : fmt::format("flip=opcode:{}", random.below(8));
    case 3:
        // Not the lowest bits: a neighbour may be the tester's other address.
        return sketch.percent(50)
                   ? fmt::format("invert=pkey:{}", random.below(15))
                   : fmt::format("invert=ip.src:{}", 6 + random.below(sketch.address_bits() - 6));
    default: break;
    }
    std::string fault(random.pick(faults));
    // ENC-07, CRC-07: nor is it taken in a frame that is longer than its packet.
    if (fault.starts_with("icrc=") && sketch.percent(30))
        fault += fmt::format(" trailer={}", 1 + random.below(40));
    return fault;
}

std::optional<std::string> damaged(std::string line, std::string_view fault) {
    for (const auto field : std::views::split(fault, ' ')) {
        const std::string_view written(field.begin(), field.end());
        const std::string name = fmt::format(" {}=", written.substr(0, written.find('=')));
        if (line.contains(name)) return std::nullopt; // no line has a field twice
    }
    line = with_other_data(std::move(line));
    const std::size_t whole = line.size();
    line = with_option(std::move(line), fault);
    if (line.size() == whole) return std::nullopt;
    return line;
}

Sketch::Sketch(const Origin& origin, const Reach& reach)
    : origin_(origin), random_(origin.seed), next_turn_(next_turn()), reach_(reach),
      address_bits_(ip_version_of(origin.seed) == 4 ? 32 : 128) {
    choose_features();
    choose_rare_features(origin.seed);
    choose_qps();
    extents_.resize(domains_ + 1);
    most_bytes_ = features_.large ? kLargeBytes : kUsualBytes;
}

std::uint64_t Sketch::next_turn() const {
    const bool none = turns_ == origin_.turns.size();
    return none ? std::numeric_limits<std::uint64_t>::max() : origin_.turns[turns_].draws;
}

void Sketch::turn() {
    random_ = sim::Random(origin_.turns[turns_++].seed);
    next_turn_ = next_turn();
}

void Sketch::choose_features() {
    const auto on = [&] { return percent(60); };
    features_ = {.sends = on(),
                 .writes = on(),
                 .reads = on() && reach_.reading,
                 .atomics = on() && reach_.atomics,
                 .immediate = on() && reach_.immediate,
                 .large = random().one_in(16),
                 .interleaved = on(),
                 .duplicates = on(),
                 .gaps = on() && reach_.in_order,
                 .unready = on(),
                 .dropped = on(),
                 .illegal = on(),
                 .refusals = on(),
                 .losses = on(),
                 .ghosts = on(),
                 .verbs = on(),
                 .wrap = random().one_in(4),
                 .unsignaled = on(),
                 .pieces = on() && reach_.two_pieces,
                 .windows = random().one_in(3) && reach_.windows,
                 .marks = on(),
                 .congestion = random().one_in(5),
                 .reconnects = on() && reach_.reset_reuse,
                 .early = random().one_in(4),
                 .notices = random().one_in(5) && reach_.notices,
                 .rights = on(),
                 .exhaustion = random().one_in(3),
                 .extensions = random().one_in(4) && reach_.flush && reach_.atomic_write,
                 .intruders = on(),
                 .bursts = random().one_in(3),
                 .timers = random().one_in(4),
                 .aftermath = on(),
                 .meanwhile = on(),
                 .volume = random().one_in(24),
                 .probes = on(),
                 .few_retries = random().one_in(4),
                 .together = random().one_in(4)};
    // The line of a region has no room for all rights.
    if (features_.windows) features_.extensions = false;
    if (features_.notices) features_.together = false;
    if (!features_.large) id_ = random().pick(kFirstIds);
    if (!features_.writes && !features_.reads && !features_.atomics) features_.sends = true;
    mtu_ = first_mtu_ = some_mtu();
    if (random().one_in(16)) vlan_ = reach_.vlan;
    priority_ = random().below(8);
    constexpr std::array<std::string_view, 8> kinds{"",        "",      "",      "_FIRST",
                                                    "_MIDDLE", "_LAST", "_ONLY", "READ"};
    marked_kind_ = random().pick(kinds);
}

// By numbers of their own, so that the other dialogues stay as they are.
void Sketch::choose_rare_features(std::uint64_t seed) {
    constexpr std::uint64_t apart = 0x7261'7265'0000'0000;
    sim::Random rare(seed ^ apart);
    if (rare.one_in(3)) favourite_ = rare.below(0x10000);
    if (!rare.one_in(2)) return;
    const auto on = [&] { return rare.one_in(2); };
    features_.checksums = on() && ip_version_of(seed) == 4;
    features_.other_mtu = on() && reach_.reset_reuse;
    features_.alike = on() && !features_.other_mtu;
    if (features_.alike) features_.wrap = true; // first PSNs that are known
    features_.replays = on() && features_.atomics && features_.reads;
    features_.all_signaled = on();
    features_.mixed_ends = on();
    features_.unreliable = rare.one_in(4) && reach_.unreliable && reach_.datagrams;
    features_.twins = rare.one_in(4) && !features_.unreliable;
    if (features_.twins) features_.wrap = true; // first PSNs that are known
    features_.greetings = rare.one_in(6);
    features_.addresses = rare.one_in(4) && reach_.second_address;
    features_.borders = rare.one_in(3) && reach_.chosen_addresses;
    border_seed_ = rare.next();
    features_.small_queues = rare.one_in(2) && !features_.bursts && !features_.volume;
    depth_seed_ = rare.next();
    features_.moments = rare.one_in(2);
    moments_ = sim::Random(rare.next());
    features_.apart = rare.one_in(3) && !features_.notices;
}

std::uint32_t Sketch::some_mtu() {
    constexpr std::array<std::uint32_t, 6> mtus{256, 256, 1024, 512, 1024, 4096};
    std::uint32_t mtu = std::min(random().pick(mtus), reach_.largest_mtu);
    if (!reach_.small_mtu || (features_.large && !random().one_in(3)))
        mtu = std::max(mtu, std::uint32_t{1024});
    return std::min(mtu, reach_.largest_mtu);
}

void Sketch::change_mtu() {
    mtu_ = some_mtu();
}

void Sketch::choose_qps() {
    constexpr std::array<std::size_t, 8> counts{1, 1, 1, 1, 2, 2, 3, 4};
    using enum Talk;
    std::vector<Talk> talks{TesterAsks, TesterAsks, TesterAsks, DutAsks, DutAsks, DutAsks,
                            TesterAsks, DutAsks,    Both,       Both,    Peers,   Peers};
    if (reach_.unreliable) talks.push_back(Unreliable);
    if (reach_.datagrams) talks.push_back(Datagrams);
    constexpr std::array<std::uint8_t, 8> timeouts{12, 12, 13, 13, 13, 14, 14, 16};
    timeout_ = random().pick(timeouts);
    if (reach_.events && random().one_in(2))
        shared_limit_ = fmt::format(" limit={}", 1 + random().below(4));
    std::size_t count = features_.unreliable ? 3 : random().pick(counts);
    if (features_.twins) count = 2 + random().below(2);
    domains_ = count > 1 && random().one_in(2) ? 2 : 1;
    for (std::size_t i = 0; i < count; ++i) {
        Qp qp{.name = std::string(kNames[i]), .talk = talks[random().below(talks.size())]};
        if (features_.unreliable && i > 0) qp.talk = random().one_in(2) ? Unreliable : Datagrams;
        if (features_.twins) qp.talk = TesterAsks;
        // A fault names its QP, and the case's own has no name; its type is that of all without
        // one.
        const bool alone = count == 1 && qp.talk == Peers;
        if ((qp.talk == Peers || !is_reliable(qp.talk)) && i == 0 && !alone) qp.talk = Both;
        qp.domain = 1 + static_cast<std::uint32_t>(random().below(domains_));
        qp.queue_key = qp.old_queue_key = random().pick(kQueueKeys);
        qp.shared = qp.talk != Peers && is_reliable(qp.talk) && reach_.shared_queues &&
                    random().one_in(std::ranges::any_of(qps_, &Qp::shared) ? 2 : 6);
        qp.notices =
            features_.notices && !qp.shared && (qp.talk == TesterAsks || qp.talk == DutAsks);
        choose_rights(qp);
        if (features_.early && qp.talk == TesterAsks) choose_state(qp);
        // It takes messages from RTR on (STA-03).
        if (!is_reliable(qp.talk) && random().one_in(4)) {
            qp.early = true;
            attributes_.back() += "state=RTR ";
        }
        qp.tester_first = random().pick(kFirstPsns);
        qp.dut_first = random().pick(kFirstPsns);
        if (features_.twins && i > 0) {
            qp.domain = qps_.front().domain;
            qp.tester_first = qps_.front().tester_first;
        }
        qps_.push_back(std::move(qp));
    }
    limit_timers();
}

// While a request waits for the longest RNR timer, one that the tester does not answer fails.
void Sketch::limit_timers() {
    const bool alone = qps_.size() == 1 && qps_.front().talk == Talk::DutAsks;
    const auto asks = [](const Qp& qp) { return qp.talk == Talk::TesterAsks; };
    if (alone || std::ranges::all_of(qps_, asks)) return;
    features_.timers = false;
    for (Qp& qp : qps_)
        qp.rnr_timer.reset();
}

std::string Sketch::address_vector() {
    std::string text;
    if (random().one_in(2)) return text;
    if (random().one_in(2)) text += fmt::format("dscp={} ", random().below(64));
    if (random().one_in(4)) text += "ecn=2 ";
    if (random().one_in(3)) text += fmt::format("ttl={} ", 1 + random().below(255));
    if (random().one_in(2)) text += fmt::format("flow=0x{:X} ", random().below(0x100000));
    return text;
}

// Attributes that show in headers, and what the tester may do. An engine that is a peer does all.
void Sketch::choose_rights(Qp& qp) {
    std::string text = address_vector();
    if (qp.shared) text += "srq=q ";
    if (features_.pieces) text += fmt::format("sge={} ", reach_.pieces);
    if (features_.pieces && reach_.inline_data) text += fmt::format("inline={} ", kInlineBytes);
    if (qp.notices) text += fmt::format("cq={} ", queue_of(qp));
    if (features_.together) text += "cq=all ";
    if (features_.apart) text += "recv_cq=apart ";
    qp.all_signaled = features_.all_signaled && qp.talk == Talk::DutAsks;
    if (qp.all_signaled) text += "signal_all=1 ";
    if (features_.addresses && random().one_in(2)) text += "to=x ";
    if (qp.talk == Talk::Unreliable) text += "type=UC ";
    if (qp.talk == Talk::Datagrams) text += fmt::format("type=UD qkey=0x{:X} ", qp.queue_key);
    if (qp.talk != Talk::Peers && is_reliable(qp.talk) && random().one_in(6))
        text += rights_of(*this, qp) + " ";
    if (qp.talk == Talk::DutAsks && (features_.exhaustion || features_.few_retries)) {
        qp.rnr_retries = static_cast<int>(random().below(features_.few_retries ? 7 : 3));
        text += fmt::format("rnr_retry={} ", qp.rnr_retries);
    }
    if (qp.talk == Talk::DutAsks && features_.few_retries) {
        qp.retries = static_cast<int>(random().below(7));
        text += fmt::format("retry_cnt={} ", qp.retries);
    }
    // REQ-27: of its own READs and atomics it has no more open.
    if ((qp.talk == Talk::DutAsks || qp.talk == Talk::Peers) && random().one_in(4))
        text += fmt::format("max_rd_atomic={} ", 1 + random().below(reach_.reads));
    if (features_.timers && qp.talk == Talk::TesterAsks) qp.rnr_timer = random().below(32);
    attributes_.push_back(std::move(text));
}

// STA-02, STA-03: it gets to RTS later, if at all.
void Sketch::choose_state(Qp& qp) {
    qp.early = true;
    if (reach_.buffers_early || random().one_in(2)) {
        attributes_.back() += "state=RTR ";
        return;
    }
    attributes_.back() += "state=INIT ";
    // The same request is the first one in RTR, so that PSN 0 stands for one kind.
    qp.pending.push_back(fmt::format("{}SEND_ONLY psn=0 len=64 ackreq", sends(qp)));
    qp.pending.emplace_back("wait 1ms");
    qp.pending.push_back(fmt::format("dut    modify {}state=RTR", of(qp)));
    qp.begins_with_send = true;
}

void Sketch::pass(wire::Duration time) {
    now_ += time;
    for (Qp& qp : qps_)
        doubt_if_late(qp);
}

void Sketch::wait(wire::Duration time) {
    pass(time);
    say(fmt::format("wait {}us", std::chrono::ceil<std::chrono::microseconds>(time).count()));
}

void Sketch::doubt_if_late(Qp& qp) const {
    // Half of what it has until it gives up.
    const wire::Duration most = (qp.retries + 1) * ack_timeout() / 2;
    if (qp.open.empty() || now_ - qp.answered_at <= most) return;
    qp.known = qp.answers_known = false;
    const auto expects_something = [&](const std::string& line) {
        return line.starts_with(expects(qp)) || line.starts_with("dut    done") ||
               line.starts_with("dut    state") || line.starts_with("expect ");
    };
    std::erase_if(qp.pending, expects_something);
    for (std::string& line : qp.pending) {
        if (line.ends_with(kAfterTimer)) line.resize(line.size() - kAfterTimer.size());
    }
}

void Sketch::say(std::string line) {
    for (const std::string_view waits : {"dut    done", "dut    event", "dut    notified"}) {
        if (line.starts_with(waits)) pass(kHostLate);
    }
    if (line == kLongPause) pass(std::chrono::milliseconds(250));
    if (features_.timers && line.ends_with(kAfterTimer)) pass(wire::rnr_time(0));
    const bool begins = line.contains("> ") || line.starts_with("dut    post");
    lines_.push_back(std::move(line));
    // In the time that a few packets take.
    constexpr std::array<std::uint64_t, 6> moments{1, 2, 3, 5, 9, 20};
    if (features_.moments && begins && moments_.one_in(5))
        wait(std::chrono::microseconds(moments_.pick(moments)));
}

std::vector<std::uint64_t> Sketch::parts(std::uint64_t bytes, std::uint64_t most) {
    most = std::min<std::uint64_t>(most, reach_.pieces);
    if (!features_.pieces || bytes < 2 || most < 2 || !percent(40)) return {bytes};
    std::vector<std::uint64_t> parts;
    for (std::uint64_t left = 1 + random().below(most - 1); left > 0; --left) {
        const std::uint64_t part = percent(10) ? 0 : random().below(bytes + 1);
        parts.push_back(part);
        bytes -= part;
    }
    parts.push_back(bytes);
    return parts;
}

std::string Sketch::pieces(std::string_view region, std::span<const std::uint64_t> parts,
                           const std::function<std::uint64_t(std::uint64_t)>& place) {
    std::string text;
    for (const std::uint64_t part : parts)
        text += fmt::format("{}{}[{} +{}]", text.empty() ? "" : ",", region, place(part), part);
    return text;
}

std::string Sketch::sources(std::uint32_t domain, std::span<const std::uint64_t> parts) {
    return pieces(fmt::format("s{}", domain), parts,
                  [&](std::uint64_t part) { return source(domain, part); });
}

std::string Sketch::sinks(std::uint32_t domain, std::span<const std::uint64_t> parts) {
    return pieces(fmt::format("k{}", domain), parts,
                  [&](std::uint64_t part) { return sink(domain, part); });
}

std::int64_t Sketch::packets_of(std::uint64_t bytes) const {
    return std::max<std::int64_t>(1, static_cast<std::int64_t>((bytes + mtu_ - 1) / mtu_));
}

std::uint64_t Sketch::length() {
    constexpr std::uint64_t large = std::uint64_t{64} << 10;
    const auto near = [&](std::uint64_t border) { return border - 1 + random().below(3); };
    const std::array<std::uint64_t, 5> larges{near(large), near(large), near(2 * large),
                                              large + random().below(10'000), near(large + mtu_)};
    std::uint64_t bytes = random().pick(kShort);
    switch (random().below(8)) {
    case 0:
    case 1:
    case 2: bytes = near(mtu_ * (1 + random().below(4))); break;
    case 3: bytes = random().below(3 * mtu_); break;
    case 4:
        if (features_.large) bytes = random().pick(larges);
        break;
    default: break;
    }
    return has_room(bytes) ? bytes : random().pick(kShort);
}

std::uint64_t Sketch::place(std::uint64_t& extent, std::uint64_t bytes) {
    std::uint64_t offset = random().one_in(3) ? random().below(2048) : random().pick(kOffsets);
    if (features_.large && random().one_in(3)) offset = random().pick(kFarOffsets);
    extent = std::max(extent, offset + bytes);
    return offset;
}

std::uint64_t Sketch::target(std::uint32_t domain, std::uint64_t bytes) {
    return place(extents_[domain].target, bytes);
}

std::uint64_t Sketch::source(std::uint32_t domain, std::uint64_t bytes) {
    return place(extents_[domain].source, bytes);
}

std::uint64_t Sketch::sink(std::uint32_t domain, std::uint64_t bytes) {
    std::uint64_t& end = extents_[domain].sink;
    const std::uint64_t offset = end + 1 + random().below(kGuardBytes);
    end = offset + bytes;
    return offset;
}

Place Sketch::far(std::uint64_t bytes) {
    const std::size_t which = far_region();
    return {std::string(kFarRegions[which]), place(far_[which], bytes)};
}

std::uint64_t Sketch::constant(std::uint64_t bytes) {
    return place(constant_, bytes);
}

std::uint64_t Sketch::near(std::uint64_t bytes) {
    const std::uint64_t offset = near_ + 1;
    near_ = offset + bytes;
    return offset;
}

std::uint64_t Sketch::word_place(std::uint64_t& extent) {
    std::uint64_t offset = 8 * random().below(8);
    if (random().one_in(5)) offset = 8 * random().below(kFixedBytes / 8 + 2);
    if (random().one_in(10)) offset = random().one_in(2) ? kFixedBytes - 8 : kFixedBytes;
    extent = std::max(extent, offset + 8);
    return offset;
}

Place Sketch::word(std::uint32_t domain) {
    // The first and the last one of a region that is not larger.
    if (random().one_in(8))
        return {fmt::format("f{}", domain), random().one_in(3) ? 0 : kFixedBytes - 8};
    return {fmt::format("t{}", domain), word_place(extents_[domain].target)};
}

Place Sketch::far_word() {
    const std::size_t which = far_region();
    return {std::string(kFarRegions[which]), word_place(far_[which])};
}

namespace {

// As many lines as the attributes need.
std::string attribute_lines(const Qp& qp, std::string_view attributes) {
    std::string text;
    while (!attributes.empty()) {
        constexpr std::size_t room = kColumns - 20;
        std::size_t end = attributes.size();
        if (end > room) end = attributes.rfind(' ', room) + 1;
        text += fmt::format("qp     {}{}\n", of(qp), attributes.substr(0, end));
        attributes.remove_prefix(end);
    }
    return text;
}

} // namespace

std::string Sketch::qp_lines() const {
    std::string text = fmt::format("qp     mtu={}", first_mtu_);
    if (vlan_) text += fmt::format(" vlan={}.{}", *vlan_, priority_);
    text += "\n";
    if (features_.addresses) text += "tester address x\n";
    constexpr std::array<std::uint64_t, 6> depths{5, 6, 8, 8, 9, 16};
    sim::Random depth(depth_seed_);
    for (std::size_t i = 0; i < qps_.size(); ++i) {
        const Qp& qp = qps_[i];
        if (features_.small_queues) {
            const std::uint64_t to_send = depth.pick(depths);
            const std::uint64_t to_receive = depth.pick(depths);
            text += fmt::format("qp     {}send_wr={} recv_wr={}\n", of(qp), to_send, to_receive);
        }
        const std::string psn = features_.wrap ? fmt::format(" psn={}", qp.dut_first) : "";
        const std::string timer =
            is_reliable(qp.talk) ? fmt::format(" timeout={}", timeout_) : std::string{};
        const std::string rnr =
            qp.rnr_timer ? fmt::format(" min_rnr_timer={}", *qp.rnr_timer) : std::string{};
        text += fmt::format("qp     {}pd={}{}{}{}\n", of(qp), qp.domain, timer, rnr, psn);
        text += attribute_lines(qp, attributes_[i]);
        if (!is_reliable(qp.talk)) {
            if (features_.wrap)
                text += fmt::format("tester qp {}psn={}\n", of(qp), qp.tester_first);
        } else if (features_.wrap)
            text += fmt::format("tester qp {}psn={} timeout=12\n", of(qp), qp.tester_first);
        else
            text += fmt::format("tester qp {}timeout=12\n", of(qp));
    }
    return text;
}

// Where the device's regions begin: each at a page before a 4 GiB border of its own, so that some
// end at the border and some go on beyond it; or all at one address.
std::string Sketch::place_of_region(sim::Random& random) const {
    constexpr std::uint64_t most_pages = 6;
    constexpr std::uint64_t page = 4096;
    if (border_seed_ % 2 != 0) return fmt::format(" iova=2^33-{}", page);
    const std::uint64_t bit = 33 + random.below(30);
    return fmt::format(" iova=2^{}-{}", bit, page * random.below(most_pages));
}

std::string Sketch::region_lines() const {
    std::string atomic = reach_.atomics ? ",remote_atomic" : "";
    if (features_.extensions) atomic += ",flush_global";
    sim::Random places(border_seed_);
    const auto region = [&](std::string_view name, std::uint32_t domain, std::uint64_t bytes,
                            std::string_view rest) {
        std::string line =
            fmt::format("dut    mr {}{} len={} pd={} {}", name, domain, bytes, domain, rest);
        const std::string place = features_.borders ? place_of_region(places) : "";
        if (line.size() + place.size() <= kColumns) line += place;
        return line + "\n";
    };
    std::string text;
    const bool shared = std::ranges::any_of(qps_, &Qp::shared);
    const int shared_depth = features_.small_queues ? 12 : 128;
    if (shared) text += fmt::format("dut    srq q depth={}{}\n", shared_depth, shared_limit_);
    if (features_.together) text += "dut    cq all depth=2048\n";
    if (features_.apart) text += "dut    cq apart depth=2048\n";
    for (const Qp& qp : qps_) {
        if (qp.notices) text += fmt::format("dut    cq {} depth=512\n", queue_of(qp));
    }
    for (std::uint32_t domain = 1; domain <= domains_; ++domain) {
        const Extent& extent = extents_[domain];
        const std::string all = fmt::format("remote_write,remote_read{} fill=offsets", atomic);
        text += region("t", domain, extent.target + 2 * kGuardBytes,
                       (windows_ > 0 ? "access=mw_bind," : "access=") + all);
        text += region("s", domain, extent.source + kGuardBytes, "fill=random read_only");
        text += region("k", domain, extent.sink + kGuardBytes, "access=local_write fill=offsets");
        text += region("f", domain, kFixedBytes, "access=" + all);
        text += region("o", domain, kOddBytes, "access=" + all);
        text += region("n", domain, 256, "access=remote_read fill=offsets");
        if (extent.spare_taken) text += region("g", domain, kFixedBytes, "access=" + all);
    }
    for (std::size_t i = 0; i < far_.size(); ++i) {
        text += fmt::format("tester mr {} len={} fill=random "
                            "access=remote_read,remote_write,remote_atomic\n",
                            kFarRegions[i], far_[i] + kGuardBytes);
    }
    if (constant_ > 0)
        text += fmt::format("tester mr u len={} fill=random\n", constant_ + kOtherData);
    if (near_ > 0) text += fmt::format("tester mr p len={} fill=zero\n", near_ + kGuardBytes);
    for (std::uint64_t i = 1; i <= windows_; ++i)
        text += fmt::format("dut    mw w{} on=t1 type={}\n", i, window_types_[i - 1]);
    return text;
}

std::string Sketch::text(std::string_view title) const {
    std::string script = fmt::format("rule   ROB-09\ntitle  \"{}\"\nrole   both\nlevel  MUST\n"
                                     "tags   unscripted\n"
                                     "{}\n{}",
                                     title, qp_lines(), region_lines());
    for (const Qp& qp : qps_) {
        if (qp.talk == Talk::Peers) script += fmt::format("tester answers {}\n", qp.name);
    }
    for (const std::string& line : lines_)
        script += line + "\n";
    return script;
}

} // namespace veriroce::explorer
