// Which pieces of which files the processes read next. Every process computes it, from the same
// figures.
//
// Files are read from the one whose frames come first on. A pcap file is divided into pieces, which
// several processes read at a time; any other file is read by one process, a piece at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "dissector/mpi/numbering.hpp"

namespace veriroce::mpi {

// How far a file was read.
struct Progress {
    bool divisible = false;
    std::uint64_t bytes = 0; // of a file that is divisible
    bool finished = false;
    bool begun = false;
    std::uint64_t next = 0;              // where the next frame begins, if it is divisible
    std::uint64_t pieces = 0;            // that were read
    Key key = 0;                         // no frame to come has a smaller one
    std::optional<std::uint32_t> reader; // which process reads it, if it is not divisible
};

struct Piece {
    std::uint32_t file = 0;
    std::uint32_t rank = 0;   // of the process that reads it
    std::uint64_t number = 0; // within the file
    std::uint64_t begin = 0;  // if the file is divisible: of the frames that begin from here on,
    std::uint64_t end = 0;    // and before this
    bool exact = true;        // a frame begins at `begin`
};

// At most one piece for each process, in the order of files and pieces. None if all are finished.
// Notes which process reads a file that is not divisible.
std::vector<Piece> next_pieces(std::span<Progress> files, std::size_t processes,
                               std::uint64_t piece_bytes);

} // namespace veriroce::mpi
