#include "dissector/mpi/numbering.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <tuple>

namespace veriroce::mpi {
namespace {

using Numbers = std::vector<std::vector<std::uint64_t>>;

// A run without its keys.
struct Counted {
    std::uint32_t file = 0;
    std::uint64_t piece = 0;
    std::uint64_t frames = 0;
};

std::vector<std::uint64_t> counted_from(std::uint64_t first, std::size_t count) {
    std::vector<std::uint64_t> numbers(count);
    std::iota(numbers.begin(), numbers.end(), first);
    return numbers;
}

// The runs of one file follow each other.
Numbers number_one_file(std::span<const Run> runs, std::span<const Counted> all,
                        std::uint64_t before) {
    Numbers numbers;
    for (const Run& run : runs) {
        std::uint64_t first = before + 1;
        for (const Counted& other : all) {
            if (other.piece < run.piece) first += other.frames;
        }
        numbers.push_back(counted_from(first, run.keys.size()));
    }
    return numbers;
}

// Times are divided into as many ranges as there are processes, and each orders one of them.
class Ranges {
  public:
    Ranges(World& world, std::span<const Run> runs) : ranges_(world.size()) {
        Span own;
        for (const Run& run : runs) {
            if (run.keys.empty()) continue;
            own.least = std::min(own.least, run.keys.front());
            own.most = std::max(own.most, run.keys.back());
        }
        Span whole;
        for (const Span& one : world.all(own)) {
            whole.least = std::min(whole.least, one.least);
            whole.most = std::max(whole.most, one.most);
        }
        least_ = whole.least;
        const auto width =
            static_cast<std::uint64_t>(whole.most) - static_cast<std::uint64_t>(whole.least);
        step_ = width / ranges_ + 1;
    }

    // Of sorted keys those that lie in a range.
    [[nodiscard]] std::span<const Key> part(std::span<const Key> keys, std::size_t range) const {
        const auto range_of = [&](Key key) {
            return static_cast<std::size_t>(
                (static_cast<std::uint64_t>(key) - static_cast<std::uint64_t>(least_)) / step_);
        };
        const auto [begin, end] = std::ranges::equal_range(keys, range, {}, range_of);
        return {begin, end};
    }

  private:
    struct Span {
        Key least = std::numeric_limits<Key>::max();
        Key most = std::numeric_limits<Key>::min();
    };
    std::size_t ranges_;
    Key least_ = 0;
    std::uint64_t step_ = 1;
};

// A part of a run, at the process that orders its range.
struct Arrived {
    std::size_t rank = 0;
    std::uint32_t file = 0;
    std::uint64_t piece = 0;
    std::vector<Key> keys;
    std::vector<std::uint64_t> numbers;
};

struct Frame {
    Key key;
    std::uint32_t file;
    std::uint64_t piece;
    std::size_t arrived;
    std::size_t place;
    [[nodiscard]] auto order() const { return std::tie(key, file, piece, place); }
};

std::vector<Arrived> open(const Mail& mail) {
    std::vector<Arrived> all;
    for (std::size_t rank = 0; rank < mail.size(); ++rank) {
        for (Opened letter(mail.from(rank)); !letter.empty();) {
            Arrived& one = all.emplace_back();
            one.rank = rank;
            one.file = letter.take<std::uint32_t>();
            one.piece = letter.take<std::uint64_t>();
            one.keys = letter.take_list<Key>();
            one.numbers.resize(one.keys.size());
        }
    }
    return all;
}

// Numbers the frames of a range, the first one as `first`.
void order(std::vector<Arrived>& all, std::uint64_t first) {
    std::vector<Frame> frames;
    for (std::size_t i = 0; i < all.size(); ++i) {
        for (std::size_t place = 0; place < all[i].keys.size(); ++place)
            frames.push_back({all[i].keys[place], all[i].file, all[i].piece, i, place});
    }
    std::ranges::sort(frames, {}, &Frame::order);
    for (const Frame& frame : frames)
        all[frame.arrived].numbers[frame.place] = first++;
}

Numbers number_several_files(World& world, std::span<const Run> runs, std::uint64_t before) {
    const Ranges ranges(world, runs);
    std::vector<Letter> letters(world.size());
    for (std::size_t range = 0; range < world.size(); ++range) {
        for (const Run& run : runs) {
            letters[range].put(run.file);
            letters[range].put(run.piece);
            letters[range].put_list(ranges.part(run.keys, range));
        }
    }
    std::vector<Arrived> arrived = open(world.exchange(letters));
    std::uint64_t own = 0;
    for (const Arrived& one : arrived)
        own += one.keys.size();
    const std::vector<std::uint64_t> counts = world.all(own);
    order(arrived,
          std::accumulate(counts.begin(),
                          counts.begin() + static_cast<std::ptrdiff_t>(world.rank()), before + 1));
    std::vector<Letter> answers(world.size());
    for (const Arrived& one : arrived)
        answers[one.rank].put_list(std::span<const std::uint64_t>(one.numbers));
    const Mail mail = world.exchange(answers);
    Numbers numbers(runs.size());
    for (std::size_t range = 0; range < world.size(); ++range) {
        Opened letter(mail.from(range));
        for (std::vector<std::uint64_t>& of_run : numbers) {
            const auto part = letter.take_list<std::uint64_t>();
            of_run.insert(of_run.end(), part.begin(), part.end());
        }
    }
    return numbers;
}

} // namespace

Numbers number_frames(World& world, std::span<const Run> runs, std::uint64_t before) {
    std::vector<Counted> own;
    for (const Run& run : runs)
        own.push_back({.file = run.file, .piece = run.piece, .frames = run.keys.size()});
    std::vector<Counted> all = world.all_of(own);
    std::erase_if(all, [](const Counted& one) { return one.frames == 0; });
    const bool one_file =
        std::ranges::all_of(all, [&](const Counted& one) { return one.file == all.front().file; });
    return one_file ? number_one_file(runs, all, before)
                    : number_several_files(world, runs, before);
}

} // namespace veriroce::mpi
