#include "dissector/mpi/analysis.hpp"

#include <algorithm>
#include <array>
#include <limits>

#include "dissector/mpi/facts_bytes.hpp"
#include "dissector/mpi/packet_bytes.hpp"

namespace veriroce::mpi {

// What all processes must know of a piece that one of them has read.
struct Outline {
    Piece piece;
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    bool finished = false;
    bool any = false; // frames
    Key last = 0;     // the key of its last frame
};

namespace {

Outline outline_of(const ReadPiece& read) {
    const auto keys = read.frames.keys();
    return {.piece = read.piece,
            .begin = read.begin,
            .end = read.end,
            .finished = read.finished,
            .any = !keys.empty(),
            .last = keys.empty() ? 0 : keys.back()};
}

// The first piece that does not begin where the one before it ended. Those before it are right,
// and pieces behind the end of their file are taken out.
std::optional<Piece> misplaced(std::vector<Outline>& sorted) {
    std::size_t right = 0;
    for (std::size_t i = 0; i < sorted.size(); ++i) {
        if (right > 0 && sorted[right - 1].piece.file == sorted[i].piece.file) {
            const Outline& previous = sorted[right - 1];
            if (previous.finished) continue;
            if (sorted[i].begin != previous.end) {
                Piece again = sorted[i].piece;
                again.begin = previous.end;
                again.exact = true;
                return again;
            }
        }
        sorted[right++] = sorted[i];
    }
    sorted.resize(right);
    return std::nullopt;
}

} // namespace

Analysis::Analysis(World& world, const std::vector<std::string>& paths, const Options& options)
    : world_(world), paths_(paths), options_(options),
      files_(paths, {.roce_ports = options.roce_ports,
                     .owners = world.size(),
                     .piece_bytes = options.piece_bytes}),
      analyzer_(options.analyze), merged_(world.size()) {
    begin_files();
}

// Each process looks at some of the files.
void Analysis::begin_files() {
    std::vector<Progress> own;
    for (std::size_t file = world_.rank(); file < paths_.size(); file += world_.size()) {
        const auto begun = files_.begin(file);
        if (!begun) complain(file, begun.error());
        own.push_back(begun.value_or(Progress{.finished = true}));
    }
    const std::vector<Progress> all = world_.all_of(own); // one process's files after the other's
    progress_.resize(paths_.size());
    auto next = all.begin();
    for (std::size_t rank = 0; rank < world_.size(); ++rank) {
        for (std::size_t file = rank; file < paths_.size(); file += world_.size())
            progress_[file] = *next++;
    }
}

void Analysis::complain(std::size_t file, const capture::ReadError& error) {
    own_errors_.push_back({.file = file, .text = capture::text_of(error, paths_[file])});
}

bool Analysis::round() {
    observed_ = {};
    if (std::ranges::all_of(progress_, &Progress::finished)) return false;
    std::optional<ReadPiece> own;
    for (const Piece& piece : next_pieces(progress_, world_.size(), options_.piece_bytes)) {
        if (piece.rank == world_.rank()) own = files_.read(piece);
    }
    for (const Outline& outline : fit(own)) {
        Progress& progress = progress_[outline.piece.file];
        if (own && outline.piece.rank == world_.rank()) keep(std::move(*own), progress.key);
        progress.begun = true;
        progress.next = outline.end;
        progress.pieces = outline.piece.number + 1;
        progress.finished = outline.finished;
        if (outline.any) progress.key = std::max(progress.key, outline.last);
    }
    release();
    if (options_.analyze.messages) gather_messages();
    return true;
}

// Until all pieces fit together: one that does not begin where the one before it ends was begun
// inside a packet, and is read again.
std::vector<Outline> Analysis::fit(std::optional<ReadPiece>& own) {
    for (;;) {
        std::vector<Outline> mine;
        if (own) mine.push_back(outline_of(*own));
        std::vector<Outline> all = world_.all_of(mine);
        std::ranges::sort(all, {}, [](const Outline& one) {
            return std::pair(one.piece.file, one.piece.number);
        });
        const auto again = misplaced(all);
        if (!again) return all;
        if (again->rank != world_.rank()) continue;
        files_.recycle(std::move(own->frames));
        own = files_.read(*again);
    }
}

void Analysis::keep(ReadPiece own, Key before) {
    if (own.error) complain(own.piece.file, *own.error);
    own.frames.raise_keys(before);
    others_.add(own.frames.others());
    read_.push_back(std::move(own));
}

// All frames up to the earliest that may still come go to their owners.
void Analysis::release() {
    std::optional<std::pair<Key, std::uint32_t>> coming;
    for (std::uint32_t file = 0; file < progress_.size(); ++file) {
        const std::pair place(progress_[file].key, file);
        if (!progress_[file].finished && (!coming || place < *coming)) coming = place;
    }
    std::vector<Run> runs;
    std::uint64_t own = 0;
    for (const ReadPiece& read : read_) {
        const auto keys = read.frames.keys();
        const auto end = std::ranges::partition_point(
            keys, [&](Key key) { return !coming || std::pair(key, read.piece.file) <= *coming; });
        runs.push_back(
            {.file = read.piece.file, .piece = read.piece.number, .keys = {keys.begin(), end}});
        own += runs.back().keys.size();
    }
    const auto numbers = number_frames(world_, runs, numbered_);
    for (const std::uint64_t count : world_.all(own))
        numbered_ += count;
    std::vector<Outgoing> outgoing(world_.size());
    for (std::size_t i = 0; i < read_.size(); ++i)
        read_[i].frames.release(numbers[i], outgoing);
    world_.exchange(outgoing, mail_);
    for (ReadPiece& read : read_) {
        if (read.frames.keys().empty()) files_.recycle(std::exchange(read.frames, {}));
    }
    std::erase_if(read_, [](const ReadPiece& read) { return read.frames.keys().empty(); });
    observe();
}

// The packets of this process's connections.
void Analysis::observe() {
    came_.clear();
    for (std::size_t rank = 0; rank < mail_.size(); ++rank) {
        for (Opened letter(mail_.from(rank)); !letter.empty();)
            came_.push_back(take_bytes(letter));
    }
    std::ranges::sort(came_, {}, &NumberedBytes::number);
    std::array<flow::FramePacket, analyze::Analyzer::kTogether> frames;
    for (std::size_t done = 0, some = 0; done < came_.size(); done += some) {
        some = std::min(frames.size(), came_.size() - done);
        for (std::size_t i = 0; i < some; ++i) {
            frames[i] = {.there = true, .packet = {}};
            Opened letter(came_[done + i].bytes);
            take_packet(letter, frames[i].packet);
        }
        analyzer_.observe(std::span<const flow::FramePacket>(frames).first(some));
        if (!options_.analyze.messages) continue;
        const auto messages = analyzer_.messages();
        const auto named = analyzer_.named();
        observed_.messages.insert(observed_.messages.end(), messages.begin(), messages.end());
        observed_.named.insert(observed_.named.end(), named.begin(), named.end());
    }
}

void Analysis::gather_messages() {
    Letter letter;
    letter.put_list(std::span<const std::uint64_t>(observed_.named));
    letter.put_list(std::span<const analyze::FinishedMessage>(observed_.messages));
    const Mail mail = world_.send_to_first(letter);
    if (!world_.first()) return;
    std::vector<analyze::Observed> all;
    for (std::size_t rank = 0; rank < mail.size(); ++rank) {
        Opened opened(mail.from(rank));
        analyze::Observed& one = all.emplace_back();
        one.named = opened.take_list<std::uint64_t>();
        one.messages = opened.take_list<analyze::FinishedMessage>();
    }
    merged_.add([&](std::size_t share) -> const analyze::Observed& { return all[share]; });
}

void Analysis::finish() {
    analyzer_.finish();
    gather_totals();
    const auto own = analyzer_.conversations();
    gather_conversations(own);
    if (!world_.first()) return;
    std::vector<analyze::Conversation*> all(own.begin(), own.end());
    for (analyze::Conversation& conversation : gathered_)
        all.push_back(&conversation);
    conversations_ = analyze::merged(std::move(all), totals_);
}

// And the errors.
void Analysis::gather_totals() {
    analyze::Totals own = analyzer_.totals();
    own.add(others_);
    Letter letter;
    put_totals(letter, own);
    for (const FileError& error : own_errors_) {
        letter.put(error.file);
        letter.put_list(std::span<const char>(error.text));
    }
    const Mail mail = world_.send_to_first(letter);
    if (!world_.first()) return;
    for (std::size_t rank = 0; rank < mail.size(); ++rank) {
        Opened opened(mail.from(rank));
        totals_.add(take_totals(opened));
        while (!opened.empty()) {
            const auto file = opened.take<std::size_t>();
            const auto text = opened.take_list<char>();
            errors_.push_back({.file = file, .text = {text.begin(), text.end()}});
        }
    }
    std::ranges::stable_sort(errors_, {}, &FileError::file);
}

// Those of the other processes, some at a time.
void Analysis::gather_conversations(std::span<analyze::Conversation* const> own) {
    constexpr std::size_t kAtOnce = 1024;
    std::size_t most = 0;
    for (const std::size_t count : world_.all(own.size()))
        most = std::max(most, count);
    Letter letter;
    for (std::size_t done = 0; done < most; done += kAtOnce) {
        letter.clear();
        if (!world_.first() && done < own.size()) {
            for (analyze::Conversation* const one :
                 own.subspan(done, std::min(kAtOnce, own.size() - done)))
                put_conversation(letter, *one);
        }
        const Mail mail = world_.send_to_first(letter);
        for (std::size_t rank = 0; rank < mail.size(); ++rank) {
            for (Opened opened(mail.from(rank)); !opened.empty();)
                take_conversation(opened, gathered_.emplace_back());
        }
    }
}

} // namespace veriroce::mpi
