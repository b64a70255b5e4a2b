// Which pieces are read when: every byte once, in the order of time, with all processes at work.
#include <catch2/catch.hpp>

#include "dissector/mpi/rounds.hpp"

namespace veriroce::mpi {
namespace {

constexpr std::uint64_t kPiece = 100;

Progress pcap(std::uint64_t bytes, Key first) {
    return {.divisible = true, .bytes = bytes, .next = 24, .key = first};
}

TEST_CASE("rounds: a pcap file is divided among the processes") {
    std::vector<Progress> files{pcap(1000, 5)};
    const auto pieces = next_pieces(files, 4, kPiece);
    REQUIRE(pieces.size() == 4);
    for (std::uint32_t i = 0; i < 4; ++i) {
        CHECK(pieces[i].rank == i);
        CHECK(pieces[i].number == i);
        CHECK(pieces[i].begin == 24 + i * kPiece);
        CHECK(pieces[i].end == 24 + (i + 1) * kPiece);
        CHECK(pieces[i].exact == (i == 0));
    }
}

TEST_CASE("rounds: the last piece ends with the file, and the next file is begun") {
    std::vector<Progress> files{pcap(150, 5), pcap(1000, 9)};
    const auto pieces = next_pieces(files, 4, kPiece);
    REQUIRE(pieces.size() == 4);
    CHECK(pieces[0].end == 124);
    CHECK(pieces[1].end == 150);
    CHECK(pieces[2].file == 1);
    CHECK(pieces[2].exact);
    CHECK(pieces[3].file == 1);
}

TEST_CASE("rounds: the file whose frames come first is read first") {
    std::vector<Progress> files{pcap(1000, 9), pcap(1000, 5)};
    for (const Piece& piece : next_pieces(files, 2, kPiece))
        CHECK(piece.file == 1);
    files[1].finished = true;
    for (const Piece& piece : next_pieces(files, 2, kPiece))
        CHECK(piece.file == 0);
    files[0].finished = true;
    CHECK(next_pieces(files, 2, kPiece).empty());
}

TEST_CASE("rounds: files that overlap share the processes") {
    std::vector<Progress> files{pcap(1000, 5), pcap(1000, 6)};
    files[0].begun = files[1].begun = true;
    const auto pieces = next_pieces(files, 4, kPiece);
    REQUIRE(pieces.size() == 4);
    CHECK(std::ranges::count(pieces, 0U, &Piece::file) == 2);
}

TEST_CASE("rounds: a file that cannot be divided stays with its process") {
    std::vector<Progress> files{Progress{.key = 5}, Progress{.key = 6}};
    const auto first = next_pieces(files, 3, kPiece);
    REQUIRE(first.size() == 2);
    CHECK(first[0].rank != first[1].rank);
    CHECK(first[0].end == 0);
    files[0].key = 7; // now the other one comes first
    files[0].pieces = 1;
    const auto second = next_pieces(files, 3, kPiece);
    REQUIRE(second.size() == 2);
    CHECK(second[0].rank == first[0].rank);
    CHECK(second[1].rank == first[1].rank);
    CHECK(second[0].number == 1);
}

TEST_CASE("rounds: a process that is not free is waited for by the file alone that needs it") {
    std::vector<Progress> files{Progress{.key = 5}, Progress{.key = 6}, pcap(1000, 7)};
    next_pieces(files, 1, kPiece);
    CHECK(files[0].reader == 0U);
    const auto pieces = next_pieces(files, 1, kPiece); // file 0 comes first still
    REQUIRE(pieces.size() == 1);
    CHECK(pieces[0].file == 0);
    files[1].reader = 0;
    const auto more = next_pieces(files, 2, kPiece);
    REQUIRE(more.size() == 2);
    CHECK(more[0].file == 0);
    CHECK(more[1].file == 2);
}

} // namespace
} // namespace veriroce::mpi
