// One analysis by many processes: each reads and decodes pieces of the files and owns the
// connections between some of the addresses. Together they say what one process would.
//
//   Analysis analysis(world, paths, options);
//   while (analysis.round()) output.write(analysis.messages());   // messages: on the first process
//   analysis.finish();
//   ... analysis.conversations(), analysis.totals(), analysis.errors()   // on the first process
//
// A round: the processes read a piece each (rounds.hpp), make sure that the pieces fit together,
// number the frames up to which all files were read (numbering.hpp), and send each packet to the
// process that owns its connection. Memory is bounded: a process holds what it read of a piece and
// has not sent, what came to it in a round, and its connections (analyze::Options); the first one
// all connections at the end.
#pragma once

#include <deque>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "dissector/analyze/analyzer.hpp"
#include "dissector/analyze/merged_shares.hpp"
#include "dissector/mpi/frames.hpp"
#include "dissector/mpi/packet_bytes.hpp"
#include "dissector/mpi/world.hpp"

namespace veriroce::mpi {

struct FileError {
    std::size_t file = 0;
    std::string text;
};

struct Outline;

class Analysis {
  public:
    struct Options {
        analyze::Options analyze;
        std::vector<std::uint16_t> roce_ports;
        std::uint64_t piece_bytes = std::uint64_t{8} << 20; // of a file
    };
    Analysis(World& world, const std::vector<std::string>& paths, const Options& options);

    // False if there was nothing left to read.
    bool round();
    // After the last round.
    void finish();

    // On the first process: the messages that the last round completed; after finish() all else.
    [[nodiscard]] std::span<const analyze::FinishedMessage> messages() const {
        return merged_.messages();
    }
    [[nodiscard]] const analyze::Totals& totals() const { return totals_; }
    [[nodiscard]] std::span<const analyze::Conversation* const> conversations() const {
        return conversations_;
    }
    // Why files could not be read to their end, in the order of the files.
    [[nodiscard]] std::span<const FileError> errors() const { return errors_; }

  private:
    void begin_files();
    std::vector<Outline> fit(std::optional<ReadPiece>& own);
    void keep(ReadPiece own, Key before);
    void release();
    void observe();
    void gather_messages();
    void gather_totals();
    void gather_conversations(std::span<analyze::Conversation* const> own);
    void complain(std::size_t file, const capture::ReadError& error);

    World& world_;
    std::vector<std::string> paths_;
    Options options_;
    Files files_;
    std::vector<Progress> progress_; // the same on all processes
    std::vector<FileError> own_errors_;
    std::deque<ReadPiece> read_; // that this process has not sent entirely
    std::uint64_t numbered_ = 0; // frames
    Mail mail_;                  // the packets of a round
    std::vector<NumberedBytes> came_;
    analyze::Analyzer analyzer_;
    analyze::Totals others_; // frames without packets, which this process has read
    analyze::Observed observed_;
    analyze::MergedMessages merged_;
    std::deque<analyze::Conversation> gathered_; // of the other processes
    std::vector<const analyze::Conversation*> conversations_;
    analyze::Totals totals_;
    std::vector<FileError> errors_;
};

} // namespace veriroce::mpi
