// Real devices: what the judge says of every committed capture, and that thinning, copying,
// reordering or cutting a capture never makes it certain of anything.
#include <catch2/catch.hpp>

#include <random>

#include "tests/conformance/judge/history.hpp"

namespace veriroce::judge::test {
namespace {

using flow::test::Frame;
using flow::test::frames_of;
using Random = std::minstd_rand;

bool chance(Random& random, unsigned percent) {
    return random() % 100 < percent;
}

std::vector<Frame> thinned(const std::vector<Frame>& frames, Random& random, unsigned percent) {
    std::vector<Frame> left;
    for (const Frame& frame : frames) {
        if (!chance(random, percent)) left.push_back(frame);
    }
    return left;
}

// Some packets come twice, the second time a little later.
std::vector<Frame> copied(const std::vector<Frame>& frames, Random& random, unsigned percent) {
    std::vector<Frame> more;
    for (const Frame& frame : frames) {
        more.push_back(frame);
        if (!chance(random, percent) || more.size() < 2) continue;
        const std::size_t back = std::min<std::size_t>(random() % 8, more.size() - 1);
        Frame copy = more[more.size() - 1 - back];
        copy.time_ns = frame.time_ns;
        more.push_back(copy);
    }
    return more;
}

// Some packets are overtaken by up to eight that follow.
std::vector<Frame> shuffled(const std::vector<Frame>& frames, Random& random, unsigned percent) {
    std::vector<Frame> mixed = frames;
    for (std::size_t i = 0; i + 1 < mixed.size(); ++i) {
        if (!chance(random, percent)) continue;
        const std::size_t to = std::min(mixed.size() - 1, i + 1 + random() % 8);
        std::rotate(mixed.begin() + static_cast<std::ptrdiff_t>(i),
                    mixed.begin() + static_cast<std::ptrdiff_t>(i) + 1,
                    mixed.begin() + static_cast<std::ptrdiff_t>(to) + 1);
    }
    for (std::size_t i = 0; i < mixed.size(); ++i)
        mixed[i].time_ns = frames[i].time_ns;
    return mixed;
}

// Whole stretches are missing.
std::vector<Frame> with_holes(const std::vector<Frame>& frames, Random& random) {
    std::vector<Frame> left;
    for (std::size_t i = 0; i < frames.size(); ++i) {
        if (chance(random, 2)) i += random() % 30;
        if (i < frames.size()) left.push_back(frames[i]);
    }
    return left;
}

// Most of one direction is missing, told apart by the last bit of the source address.
std::vector<Frame> one_sided(const std::vector<Frame>& frames, Random& random) {
    constexpr std::size_t kSourceEnd = 14 + 12 + 3;
    const unsigned side = random() % 2;
    std::vector<Frame> left;
    for (const Frame& frame : frames) {
        const bool of_side = frame.bytes.size() > kSourceEnd &&
                             std::to_integer<unsigned>(frame.bytes[kSourceEnd]) % 2 == side;
        if (!of_side || chance(random, 20)) left.push_back(frame);
    }
    return left;
}

// All of it once more a second later, as if the QPs had been connected again.
std::vector<Frame> lived_twice(const std::vector<Frame>& frames) {
    std::vector<Frame> both = frames;
    for (Frame frame : frames) {
        frame.time_ns += 1'000'000'000;
        both.push_back(std::move(frame));
    }
    return both;
}

void check_nothing_certain(const std::vector<Frame>& frames, Assumptions assumptions = {}) {
    const Judge judge = judge_of(frames, std::move(assumptions));
    if (judge.summary().certain == 0) {
        CHECK(judge.summary().packets <= frames.size());
        return;
    }
    for (const Violation& violation : judge.violations()) {
        if (violation.certainty != Certainty::Certain) continue;
        FAIL_CHECK(violation.rule << " at packet " << violation.packets.numbers[0] << ": "
                                  << text_of(violation));
    }
}

} // namespace

TEST_CASE("judge: no committed capture shows a violation", "[judge]") {
    for (const auto& path : all_captures()) {
        INFO(path.filename());
        const Judge judge = judge_of(frames_of(path));
        for (const Violation& violation : judge.violations())
            UNSCOPED_INFO(violation.rule << " " << text_of(violation));
        CHECK(judge.violations().empty());
        CHECK(judge.summary().lost_by_capture == 0);
    }
}

// They were taken on a bridge between two devices, and nothing was lost there.
TEST_CASE("judge: nor if their capture is known to be complete", "[judge]") {
    for (const auto& path : all_captures()) {
        INFO(path.filename());
        Assumptions assumptions;
        assumptions.complete = true;
        const Judge judge = judge_of(frames_of(path), assumptions);
        for (const Violation& violation : judge.violations())
            UNSCOPED_INFO(violation.rule << " " << text_of(violation));
        CHECK(judge.violations().empty());
    }
}

TEST_CASE("judge: a thinned capture makes nothing certain", "[judge]") {
    for (const auto& path : all_captures()) {
        const auto frames = frames_of(path);
        for (unsigned seed = 1; seed <= 40; ++seed) {
            Random random(seed);
            const unsigned percent = 1 + seed % 5 * 12;
            INFO(path.filename() << " seed " << seed << ", " << percent << " % lost");
            check_nothing_certain(thinned(frames, random, percent));
        }
    }
}

TEST_CASE("judge: a capture with copied packets makes nothing certain", "[judge]") {
    for (const auto& path : all_captures()) {
        const auto frames = frames_of(path);
        for (unsigned seed = 1; seed <= 15; ++seed) {
            Random random(seed);
            INFO(path.filename() << " seed " << seed);
            const auto more = copied(frames, random, 1 + seed % 3 * 15);
            check_nothing_certain(more);
            check_nothing_certain(thinned(more, random, 10));
        }
    }
}

TEST_CASE("judge: a reordered capture makes nothing certain", "[judge]") {
    for (const auto& path : all_captures()) {
        const auto frames = frames_of(path);
        for (unsigned seed = 1; seed <= 15; ++seed) {
            Random random(seed);
            INFO(path.filename() << " seed " << seed);
            const auto mixed = shuffled(frames, random, 1 + seed % 3 * 15);
            check_nothing_certain(mixed);
            check_nothing_certain(thinned(copied(mixed, random, 5), random, 10));
        }
    }
}

TEST_CASE("judge: a capture of a part, or of two lives, makes nothing certain", "[judge]") {
    Assumptions complete;
    complete.complete = true;
    for (const auto& path : all_captures()) {
        const auto frames = frames_of(path);
        check_nothing_certain(lived_twice(frames));
        for (unsigned seed = 1; seed <= 20; ++seed) {
            Random random(seed);
            INFO(path.filename() << " seed " << seed);
            check_nothing_certain(with_holes(frames, random));
            check_nothing_certain(one_sided(frames, random));
            check_nothing_certain(thinned(lived_twice(frames), random, 10));
            const auto middle =
                frames.begin() + static_cast<std::ptrdiff_t>(random() % frames.size());
            check_nothing_certain(std::vector<Frame>(middle, frames.end()));
            check_nothing_certain(std::vector<Frame>(middle, frames.end()), complete);
            check_nothing_certain(copied(shuffled(frames, random, 5), random, 5), complete);
        }
    }
}

TEST_CASE("judge: a capture of packet heads makes nothing certain", "[judge]") {
    for (const auto& path : all_captures()) {
        const auto frames = frames_of(path);
        for (const std::size_t snap : {60U, 74U, 96U, 128U}) {
            INFO(path.filename() << " " << snap << " bytes a packet");
            Judge judge;
            decode::Dissection dissection;
            std::uint64_t number = 0;
            for (const Frame& frame : frames) {
                decode::FrameFacts facts;
                facts.bytes = wire::Bytes(frame.bytes).first(std::min(snap, frame.bytes.size()));
                facts.original_length = static_cast<std::uint32_t>(frame.bytes.size());
                facts.number = ++number;
                facts.time_ns = frame.time_ns;
                decode::dissect_frame(facts, {}, dissection);
                judge.observe(dissection);
            }
            judge.finish();
            CHECK(judge.summary().certain == 0);
        }
    }
}

TEST_CASE("judge: frames that are judged together are judged as one by one", "[judge]") {
    std::size_t found = 0;
    for (const auto& path : all_captures()) {
        Random random(1);
        // Out of order and not whole, so that something is found.
        const auto frames = shuffled(thinned(frames_of(path), random, 5), random, 10);
        const Judge alone = judge_of(frames);
        for (const std::size_t together : {2U, 16U, 17U, 100U}) {
            INFO(path.filename() << ", " << together << " at a time");
            Judge judge;
            std::vector<decode::Dissection> dissections(together);
            for (std::size_t at = 0; at < frames.size(); at += together) {
                const std::size_t count = std::min(together, frames.size() - at);
                for (std::size_t i = 0; i < count; ++i)
                    flow::test::dissect(frames[at + i], at + i + 1, dissections[i]);
                judge.observe(std::span<const decode::Dissection>(dissections).first(count));
            }
            judge.finish();
            CHECK(judge.summary().packets == alone.summary().packets);
            CHECK(judge.summary().unpaired == alone.summary().unpaired);
            REQUIRE(judge.violations().size() == alone.violations().size());
            for (std::size_t i = 0; i < judge.violations().size(); ++i) {
                CHECK(judge.violations()[i].rule == alone.violations()[i].rule);
                CHECK(judge.violations()[i].packets.numbers ==
                      alone.violations()[i].packets.numbers);
                CHECK(text_of(judge.violations()[i]) == text_of(alone.violations()[i]));
            }
        }
        found += alone.violations().size();
    }
    CHECK(found > 0);
}

} // namespace veriroce::judge::test
