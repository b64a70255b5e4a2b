#include "dissector/two_points/clocks.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "dissector/flow/digest.hpp"

namespace veriroce::two_points {
namespace {

constexpr std::size_t kMostSpans = 256;
constexpr std::size_t kSamplesOfSpan = 64;
constexpr wire::Duration kShortestSpan = std::chrono::seconds(10); // a clock's drift changes slowly

constexpr std::size_t index_of(Point point) {
    return point == Point::First ? 0 : 1;
}

wire::Duration rounded(double nanoseconds) {
    return wire::Duration(std::llround(nanoseconds));
}

// Of one span of time: the least difference of packets that pass the first point first, and the
// greatest of those that pass it last.
struct Span {
    std::optional<double> least;
    std::optional<double> greatest;

    void add(Point nearer, double difference) {
        if (nearer == Point::First) {
            least = std::min(least.value_or(difference), difference);
        } else {
            greatest = std::max(greatest.value_or(difference), difference);
        }
    }
};

struct Spot {
    double x = 0;
    double y = 0;
};

double turn(const Spot& a, const Spot& b, const Spot& c) {
    return (b.x - a.x) * (c.y - a.y) - (b.y - a.y) * (c.x - a.x);
}

// Of all lines that no spot lies below, the slope of the one to which the spots are nearest in sum:
// the edge of their hull at the middle of their times. Queues lengthen delays and never shorten
// them, so this is how clocks drift apart. The spots are in the order of x.
std::optional<double> slope_below(const std::vector<Spot>& spots) {
    if (spots.size() < 3) return std::nullopt;
    std::vector<Spot> hull;
    double middle = 0;
    for (const Spot& spot : spots) {
        while (hull.size() > 1 && turn(hull[hull.size() - 2], hull.back(), spot) <= 0)
            hull.pop_back();
        hull.push_back(spot);
        middle += spot.x / static_cast<double>(spots.size());
    }
    for (std::size_t i = 1; i < hull.size(); ++i) {
        const double wide = hull[i].x - hull[i - 1].x;
        if (hull[i].x >= middle && wide > 0) return (hull[i].y - hull[i - 1].y) / wide;
    }
    return std::nullopt;
}

} // namespace

std::size_t PathHash::operator()(const Path& path) const {
    std::uint64_t state = flow::digest_of_bytes(path.from.bytes);
    flow::mix_into(state, flow::digest_of_bytes(path.to.bytes));
    return static_cast<std::size_t>(state);
}

// Of one packet: the second clock's time of it less the first clock's.
struct Clocks::Difference {
    std::uint32_t path = 0;
    wire::Duration at{0}; // since the beginning, on the first clock
    wire::Duration difference{0};
};

std::uint32_t Clocks::number_of(const Path& path) {
    const auto [found, fresh] =
        path_numbers_.try_emplace(path, static_cast<std::uint32_t>(paths_.size()));
    if (fresh) paths_.push_back(path);
    return found->second;
}

void Clocks::add(Point point, const flow::Packet& packet) {
    if (!packet.time || packet.integrity == flow::Integrity::Bad) return;
    const std::uint64_t identity = flow::identity_of_headers(packet);
    std::uint64_t mixed = 0;
    flow::mix_into(mixed, identity);
    if (mixed > kept_below_) return;
    Sample& sample = samples_[identity];
    sample.path = number_of({.from = packet.source, .to = packet.destination});
    const std::size_t index = index_of(point);
    if (sample.seen[index] < 2) ++sample.seen[index];
    sample.times[index] = *packet.time;
    while (samples_.size() > kMostSamples)
        thin_out();
}

void Clocks::thin_out() {
    kept_below_ /= 2;
    std::erase_if(samples_, [this](const auto& entry) {
        std::uint64_t mixed = 0;
        flow::mix_into(mixed, entry.first);
        return mixed > kept_below_;
    });
}

std::vector<Clocks::Difference> Clocks::differences() const {
    std::vector<Difference> all;
    for (const auto& [identity, sample] : samples_) {
        if (sample.seen != std::array<std::uint8_t, 2>{1, 1}) continue;
        all.push_back({.path = sample.path,
                       .at = sample.times[0] - begin_,
                       .difference = sample.times[1] - sample.times[0] - offset_});
    }
    std::ranges::sort(all, [](const Difference& a, const Difference& b) {
        return std::pair(a.at, a.difference) < std::pair(b.at, b.difference);
    });
    return all;
}

bool Clocks::compare() {
    bool first = true;
    for (const auto& [identity, sample] : samples_) {
        if (sample.seen != std::array<std::uint8_t, 2>{1, 1}) continue;
        if (first || sample.times[0] < begin_) {
            begin_ = sample.times[0];
            offset_ = sample.times[1] - sample.times[0];
        }
        first = false;
    }
    nearer_.assign(paths_.size(), Point::First);
    const std::vector<Difference> all = differences();
    matched_ = all.size();
    if (all.empty()) return false;
    find_ways(all);
    fit_line(all);
    set_knots(all);
    return true;
}

// Of the two ways between two addresses the one with the greater differences passes the first point
// first. Neighbours in time are compared, so that the drift of the clocks does not matter.
void Clocks::find_ways(const std::vector<Difference>& all) {
    std::vector<std::optional<wire::Duration>> latest(paths_.size());
    std::vector<std::vector<wire::Duration>> more(paths_.size()); // than on the way back
    std::vector<std::uint32_t> backs(paths_.size());
    for (std::uint32_t path = 0; path < paths_.size(); ++path) {
        const auto back = path_numbers_.find(paths_[path].back());
        backs[path] = back == path_numbers_.end() ? path : back->second;
    }
    for (const Difference& one : all) {
        const std::uint32_t back = backs[one.path];
        latest[one.path] = one.difference;
        if (back == one.path || !latest[back]) continue;
        const wire::Duration there = one.difference - *latest[back];
        more[std::min(one.path, back)].push_back(one.path < back ? there : -there);
    }
    for (std::uint32_t path = 0; path < paths_.size(); ++path) {
        if (more[path].empty()) continue;
        const auto half = more[path].begin() + static_cast<std::ptrdiff_t>(more[path].size() / 2);
        std::ranges::nth_element(more[path], half);
        const bool first = *half >= wire::Duration{0};
        nearer_[path] = first ? Point::First : Point::Second;
        nearer_[backs[path]] = first ? Point::Second : Point::First;
        both_ways_ = true;
    }
}

void Clocks::fit_line(const std::vector<Difference>& all) {
    std::array<std::vector<Spot>, 2> ways; // that of the second is turned over
    for (const Difference& one : all) {
        const bool first = nearer_[one.path] == Point::First;
        ways[first ? 0 : 1].push_back(
            {.x = ns(one.at), .y = first ? ns(one.difference) : -ns(one.difference)});
    }
    const auto there = slope_below(ways[0]);
    const auto here = slope_below(ways[1]);
    if (there && here) {
        slope_ = (*there - *here) / 2;
    } else if (there || here) {
        slope_ = there ? *there : -*here;
    }
}

void Clocks::set_knots(const std::vector<Difference>& all) {
    const double end = ns(all.back().at) + 1;
    const auto of_time = static_cast<std::size_t>(all.back().at / kShortestSpan);
    const std::size_t count =
        std::clamp<std::size_t>(std::min(of_time, all.size() / kSamplesOfSpan), 1, kMostSpans);
    std::vector<Span> spans(count);
    Span whole;
    for (const Difference& one : all) {
        const double beside = ns(one.difference) - slope_ * ns(one.at);
        const auto span = static_cast<std::size_t>(ns(one.at) / end * static_cast<double>(count));
        spans[std::min(span, count - 1)].add(nearer_[one.path], beside);
        whole.add(nearer_[one.path], beside);
    }
    const auto add = [&](const Span& span, double at) {
        const double low = *span.greatest; // offset - delay
        const double high = *span.least;   // offset + delay
        knots_.push_back({.at = begin_ + rounded(at), .offset = (low + high) / 2});
        uncertainty_ = std::max(uncertainty_, rounded(std::abs(high - low) / 2));
    };
    if (!both_ways_) {
        knots_.push_back({.at = begin_, .offset = whole.least.value_or(0)});
        return;
    }
    for (std::size_t i = 0; i < count; ++i) {
        if (!spans[i].least || !spans[i].greatest) continue;
        add(spans[i], (static_cast<double>(i) + 0.5) * end / static_cast<double>(count));
    }
    if (knots_.empty()) add(whole, 0);
}

double Clocks::offset_at(wire::Instant on_first) const {
    const double line = slope_ * ns(on_first - begin_);
    const auto after = std::ranges::upper_bound(knots_, on_first, {}, &Knot::at);
    if (after == knots_.begin()) return line + knots_.front().offset;
    const Knot& before = *(after - 1);
    if (after == knots_.end()) return line + before.offset;
    const double part = ns(on_first - before.at) / ns(after->at - before.at);
    return line + before.offset + part * (after->offset - before.offset);
}

wire::Instant Clocks::on_first(Point point, wire::Instant time) const {
    if (point == Point::First || knots_.empty()) return time;
    // The line is so flat that the offset at the second clock's time, moved once, is exact enough.
    const wire::Instant about = time - offset_;
    return about - rounded(offset_at(about - rounded(offset_at(about))));
}

Point Clocks::nearer(const Path& path) const {
    const auto found = path_numbers_.find(path);
    if (found != path_numbers_.end()) return nearer_[found->second];
    const auto back = path_numbers_.find(path.back());
    if (back == path_numbers_.end()) return Point::First;
    return nearer_[back->second] == Point::First ? Point::Second : Point::First;
}

wire::Duration Clocks::offset() const {
    return offset_ + rounded(knots_.empty() ? 0 : offset_at(begin_));
}

} // namespace veriroce::two_points
