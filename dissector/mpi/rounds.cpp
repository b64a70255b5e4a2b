#include "dissector/mpi/rounds.hpp"

#include <algorithm>
#include <numeric>

namespace veriroce::mpi {
namespace {

class Plan {
  public:
    Plan(std::size_t processes, std::uint64_t piece_bytes)
        : piece_bytes_(piece_bytes), busy_(processes) {}

    [[nodiscard]] std::size_t idle() const { return busy_.size() - pieces_.size(); }

    void add(std::uint32_t file, Progress& progress, std::size_t most) {
        if (progress.divisible) {
            divide(file, progress, std::min(most, idle()));
            return;
        }
        if (!progress.reader) progress.reader = first_idle();
        if (busy_[*progress.reader]) return;
        assign({.file = file, .rank = *progress.reader, .number = progress.pieces});
    }

    std::vector<Piece> finish() {
        std::ranges::sort(pieces_, {},
                          [](const Piece& piece) { return std::pair(piece.file, piece.number); });
        return std::move(pieces_);
    }

  private:
    void divide(std::uint32_t file, const Progress& progress, std::size_t most) {
        std::uint64_t begin = progress.next;
        for (std::size_t i = 0; i < most && begin < progress.bytes; ++i) {
            const std::uint64_t end = std::min(begin + piece_bytes_, progress.bytes);
            assign({.file = file,
                    .rank = first_idle(),
                    .number = progress.pieces + i,
                    .begin = begin,
                    .end = end,
                    .exact = i == 0});
            begin = end;
        }
    }

    [[nodiscard]] std::uint32_t first_idle() const {
        return static_cast<std::uint32_t>(std::ranges::find(busy_, false) - busy_.begin());
    }
    void assign(const Piece& piece) {
        busy_[piece.rank] = true;
        pieces_.push_back(piece);
    }

    std::uint64_t piece_bytes_;
    std::vector<bool> busy_;
    std::vector<Piece> pieces_;
};

} // namespace

// A file that overlaps others in time is read no farther ahead of them than its share of the
// processes reaches: what is ahead is kept in memory.
std::vector<Piece> next_pieces(std::span<Progress> files, std::size_t processes,
                               std::uint64_t piece_bytes) {
    std::vector<std::uint32_t> order(files.size());
    std::iota(order.begin(), order.end(), 0U);
    std::erase_if(order, [&](std::uint32_t file) { return files[file].finished; });
    std::ranges::sort(order, {},
                      [&](std::uint32_t file) { return std::pair(files[file].key, file); });
    auto open = static_cast<std::size_t>(
        std::ranges::count_if(order, [&](std::uint32_t file) { return files[file].begun; }));
    Plan plan(processes, piece_bytes);
    for (const std::uint32_t file : order) {
        if (plan.idle() == 0) break;
        if (!files[file].begun) ++open;
        plan.add(file, files[file], std::max<std::size_t>(1, processes / open));
    }
    return plan.finish();
}

} // namespace veriroce::mpi
