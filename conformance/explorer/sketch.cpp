#include "conformance/explorer/sketch.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace veriroce::explorer {
namespace {

constexpr std::uint64_t kUsualBytes = std::uint64_t{16} << 10; // of a dialogue on the wire
constexpr std::uint64_t kLargeBytes = std::uint64_t{192} << 10;
constexpr std::size_t kColumns = 100; // of a script
constexpr std::uint64_t kGuardBytes = 24;
constexpr std::array<std::uint64_t, 8> kOffsets{0, 1, 3, 8, 63, 64, 4095, 4096};
constexpr std::array<std::uint64_t, 10> kShort{0, 1, 2, 3, 4, 5, 7, 8, 63, 64};
constexpr std::array<std::uint32_t, 8> kFirstPsns{0,        1,        0x7FFFFE, 0x7FFFFF,
                                                  0x800000, 0xFFFFFD, 0xFFFFFE, 0xFFFFFF};
constexpr std::array<std::string_view, 4> kNames{"", "b", "c", "d"};

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

std::string with_option(std::string line, std::string_view option) {
    if (line.size() + 1 + option.size() <= kColumns) line += fmt::format(" {}", option);
    return line;
}

Sketch::Sketch(std::uint64_t seed, const Reach& reach) : random_(seed), reach_(reach) {
    choose_features();
    choose_qps();
    extents_.resize(domains_ + 1);
    most_bytes_ = features_.large ? kLargeBytes : kUsualBytes;
}

void Sketch::choose_features() {
    const auto on = [&] { return percent(60); };
    features_ = {.sends = on(),
                 .writes = on(),
                 .reads = on() && reach_.reading,
                 .atomics = on() && reach_.atomics,
                 .immediate = on() && reach_.immediate,
                 .large = random_.one_in(16),
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
                 .wrap = random_.one_in(4),
                 .unsignaled = on(),
                 .pieces = on() && reach_.two_pieces,
                 .windows = random_.one_in(3) && reach_.windows,
                 .marks = on()};
    if (!features_.writes && !features_.reads && !features_.atomics) features_.sends = true;
    constexpr std::array<std::uint32_t, 6> mtus{256, 256, 1024, 512, 1024, 4096};
    mtu_ = std::min(random_.pick(mtus), reach_.largest_mtu);
    if (!reach_.small_mtu) mtu_ = std::max(mtu_, std::uint32_t{1024});
}

void Sketch::choose_qps() {
    constexpr std::array<std::size_t, 8> counts{1, 1, 1, 1, 2, 2, 3, 4};
    constexpr std::array<Talk, 6> talks{Talk::TesterAsks, Talk::TesterAsks, Talk::DutAsks,
                                        Talk::DutAsks,    Talk::Both,       Talk::Peers};
    constexpr std::array<std::uint8_t, 3> timeouts{10, 12, 14};
    timeout_ = random_.pick(timeouts);
    const std::size_t count = random_.pick(counts);
    domains_ = count > 1 && random_.one_in(2) ? 2 : 1;
    for (std::size_t i = 0; i < count; ++i) {
        Qp qp{.name = std::string(kNames[i]), .talk = random_.pick(talks)};
        // A fault names its QP, and the case's own has no name.
        if (qp.talk == Talk::Peers && i == 0) qp.talk = Talk::Both;
        qp.domain = 1 + static_cast<std::uint32_t>(random_.below(domains_));
        qp.shared =
            qp.domain == 1 && qp.talk != Talk::Peers && reach_.shared_queues && random_.one_in(6);
        choose_rights(qp);
        qps_.push_back(std::move(qp));
        first_psns_.emplace_back(random_.pick(kFirstPsns), random_.pick(kFirstPsns));
    }
}

// Attributes that show in headers, and what the tester may do. An engine that
// is a peer does all.
void Sketch::choose_rights(Qp& qp) {
    constexpr std::array<std::string_view, 8> vectors{
        "", "", "", "", "dscp=26 ", "ttl=17 ", "flow=0x12345 ", "dscp=10 ecn=2 "};
    std::string text(random_.pick(vectors));
    if (qp.shared) text += "srq=q ";
    if (features_.pieces) text += "sge=2 ";
    if (features_.pieces && reach_.inline_data) text += fmt::format("inline={} ", kInlineBytes);
    if (qp.talk != Talk::Peers && random_.one_in(6)) {
        constexpr std::array<std::string_view, 3> rights{"remote_write", "remote_read",
                                                         "remote_read,remote_write"};
        const std::string_view right = random_.pick(rights);
        text += fmt::format("access={} ", right);
        qp.may_read = right.find("read") != std::string_view::npos;
        qp.may_write = right.find("write") != std::string_view::npos;
        qp.may_atomic = false;
    }
    attributes_.push_back(std::move(text));
}

void Sketch::wait(wire::Duration time) {
    now_ += time;
    say(fmt::format("wait {}us", std::chrono::ceil<std::chrono::microseconds>(time).count()));
}

void Sketch::doubt_if_late(Qp& qp) const {
    constexpr int most_timeouts = 2; // of the eight that a QP of a dialogue has
    if (qp.open.empty() || now_ - qp.answered_at <= most_timeouts * ack_timeout()) return;
    qp.known = qp.answers_known = false;
}

void Sketch::say(std::string line) {
    lines_.push_back(std::move(line));
}

std::int64_t Sketch::packets_of(std::uint64_t bytes) const {
    return std::max<std::int64_t>(1, static_cast<std::int64_t>((bytes + mtu_ - 1) / mtu_));
}

std::uint64_t Sketch::length() {
    constexpr std::uint64_t large = std::uint64_t{64} << 10;
    const auto near = [&](std::uint64_t border) { return border - 1 + random_.below(3); };
    std::uint64_t bytes = random_.pick(kShort);
    switch (random_.below(8)) {
    case 0:
    case 1:
    case 2: bytes = near(mtu_ * (1 + random_.below(4))); break;
    case 3: bytes = random_.below(3 * mtu_); break;
    case 4:
        if (features_.large) bytes = near(large);
        break;
    default: break;
    }
    return has_room(bytes) ? bytes : random_.pick(kShort);
}

std::uint64_t Sketch::place(std::uint64_t& extent, std::uint64_t bytes) {
    const std::uint64_t offset = random_.one_in(3) ? random_.below(2048) : random_.pick(kOffsets);
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
    const std::uint64_t offset = end + 1 + random_.below(kGuardBytes);
    end = offset + bytes;
    return offset;
}

std::uint64_t Sketch::far(std::uint64_t bytes) {
    return place(far_, bytes);
}

std::uint64_t Sketch::near(std::uint64_t bytes) {
    const std::uint64_t offset = near_ + 1;
    near_ = offset + bytes;
    return offset;
}

std::uint64_t Sketch::atomic_target(std::uint32_t domain) {
    const std::uint64_t offset = 8 * random_.below(8);
    std::uint64_t& extent = extents_[domain].target;
    extent = std::max(extent, offset + 8);
    return offset;
}

std::uint64_t Sketch::atomic_far() {
    const std::uint64_t offset = 8 * random_.below(8);
    far_ = std::max(far_, offset + 8);
    return offset;
}

std::string Sketch::qp_lines() const {
    std::string text = fmt::format("qp     mtu={}\n", mtu_);
    for (std::size_t i = 0; i < qps_.size(); ++i) {
        const Qp& qp = qps_[i];
        const auto [of_dut, of_tester] = first_psns_[i];
        const std::string psn = features_.wrap ? fmt::format(" psn={}", of_dut) : "";
        text += fmt::format("qp     {}pd={} timeout={}{}\n", of(qp), qp.domain, timeout_, psn);
        if (!attributes_[i].empty()) text += fmt::format("qp     {}{}\n", of(qp), attributes_[i]);
        if (features_.wrap)
            text += fmt::format("tester qp {}psn={} timeout=12\n", of(qp), of_tester);
        else
            text += fmt::format("tester qp {}timeout=12\n", of(qp));
    }
    return text;
}

std::string Sketch::region_lines() const {
    const std::string_view atomic = reach_.atomics ? ",remote_atomic" : "";
    const auto region = [](std::string_view name, std::uint32_t domain, std::uint64_t bytes,
                           std::string_view rest) {
        return fmt::format("dut    mr {}{} len={} pd={} {}\n", name, domain, bytes, domain, rest);
    };
    std::string text;
    const bool shared = std::ranges::any_of(qps_, &Qp::shared);
    if (shared) text += "dut    srq q depth=128\n";
    for (std::uint32_t domain = 1; domain <= domains_; ++domain) {
        const Extent& extent = extents_[domain];
        const std::string all = fmt::format("remote_write,remote_read{} fill=offsets", atomic);
        text += region("t", domain, extent.target + 2 * kGuardBytes,
                       (windows_ > 0 ? "access=mw_bind," : "access=") + all);
        text += region("s", domain, extent.source + kGuardBytes, "fill=random");
        text += region("k", domain, extent.sink + kGuardBytes, "access=local_write fill=offsets");
        text += region("f", domain, kFixedBytes, "access=" + all);
        text += region("n", domain, 256, "access=remote_read fill=offsets");
    }
    text += fmt::format("tester mr r len={} fill=random "
                        "access=remote_read,remote_write,remote_atomic\n",
                        far_ + kGuardBytes);
    if (near_ > 0) text += fmt::format("tester mr p len={} fill=zero\n", near_ + kGuardBytes);
    for (std::uint64_t i = 1; i <= windows_; ++i)
        text += fmt::format("dut    mw w{} on=t1 type=2\n", i);
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
