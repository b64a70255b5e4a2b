// The frames of captures, decoded and in order: the loop of every command that reads whole files.
//
//   DecodedFrames frames(std::move(reader), {.threads = options.threads});
//   for (auto some = frames.next(); !some.empty(); some = frames.next()) judge.observe(some);
//   for (const auto& [file, error] : frames.errors()) ...
//
// The caller's thread reads the packets, in batches, and gets the batches back in order; a pool of
// threads decodes them and verifies their ICRCs. What the caller sees does not depend on the number
// of threads. Packets are not copied: of a file that is read through a buffer, only as many packets
// are under way as the buffer holds, and all of them are given out before it is filled again.
// Memory is bounded: kBatchesPerThread batches for each thread.
//
// Several readers are one capture, in the order of time: each keeps its own order, a frame without
// a time follows the one before it, and of equal times the earlier reader's comes first. Frames are
// numbered from 1 over all readers.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "dissector/capture/reader.hpp"
#include "dissector/decode/decoder.hpp"

namespace veriroce::capture {

// For --help of the commands.
inline constexpr const char* kThreadsText =
    "Decode on N threads; the default is one for each processor. The output is the same";
inline constexpr std::uint32_t kMostThreads = 256;

class DecodePool;
struct DecodeBatch;

class DecodedFrames {
  public:
    struct Options {
        decode::Options decode;
        // That decode, the caller's among them. 0: one for each processor; 1: only the caller's.
        std::uint32_t threads = 0;
        // Frames that next() gives at once if the caller is the only thread. Several help who waits
        // for the memory of connections; else as few as can be stay in the nearest cache.
        std::size_t together = 16;
        // Whether to decode this frame; may also shorten it. Empty: every frame. Called in order by
        // the caller's thread.
        std::function<bool(Record&)> select = {};
        // What else is to be done with each batch that needs no others, on the thread that decodes
        // it: several at a time, but never two with the same place, which is less than places().
        // Without `select`. It must not throw.
        using Prepare = std::function<void(std::size_t place, std::span<const decode::Dissection>)>;
        Prepare prepare = {};
        // Work on the frames that need those before: each of `shares` sees every batch, prepared
        // and in order. next() gives a batch when all did. Shares are seen to by any thread, and
        // several at the same time, but none by two. It must not throw.
        std::size_t shares = 0;
        using Observe = std::function<void(std::size_t share, std::size_t place,
                                           std::span<const decode::Dissection>)>;
        Observe observe = {};
    };
    // How many threads that are.
    static std::uint32_t threads(std::uint32_t wanted);
    // How many shares may divide these files among so many threads. One if they cannot be read
    // again, which limits of memory may make necessary: pipes and devices.
    static std::size_t shares(std::span<const std::string> files, std::uint32_t threads);
    // Batches under way at most, with so many threads.
    static std::size_t places(std::uint32_t threads);
    static constexpr std::size_t kMostTogether = 64; // frames of a batch
    static constexpr std::size_t kBatchesPerThread = 8;

    DecodedFrames(std::vector<Reader> readers, Options options);
    DecodedFrames(Reader reader, Options options);
    DecodedFrames(DecodedFrames&&) noexcept;
    DecodedFrames& operator=(DecodedFrames&&) noexcept;
    // Waits for what the pool decodes at the moment.
    ~DecodedFrames();

    // Reads no more; what was read is still given.
    void stop() { ended_ = true; }

    // Empty at the end. The frames and their records are valid until the next call.
    std::span<decode::Dissection> next();
    // Of a frame of the last next(): its record, whether it was selected (otherwise it was not
    // decoded), and, of a single reader, the interfaces that the file describes before it.
    [[nodiscard]] const Record& record(std::size_t index) const;
    [[nodiscard]] bool selected(std::size_t index) const;
    [[nodiscard]] std::span<const Interface> interfaces(std::size_t index) const;

    // Of the frames of the last next(), as Options::prepare was told.
    [[nodiscard]] std::size_t place() const;

    // Whether next() may wait for the writer of a pipe: a good moment to flush output.
    [[nodiscard]] bool may_wait() const;
    // Why files ended early, by the index of the reader. All frames before are given out first.
    [[nodiscard]] const std::vector<std::pair<std::size_t, ReadError>>& errors() const {
        return errors_;
    }
    // The fraction of a single reader's file that was read, as Reader has it.
    [[nodiscard]] std::optional<double> part_done() const { return reader().part_done(); }

  private:
    struct Input {
        explicit Input(Reader opened) : reader(std::move(opened)) {}
        Reader reader;
        Record record;
        std::int64_t time_ns = 0;
        bool taken = true; // the record was used
        bool ended = false;
    };

    [[nodiscard]] const Reader& reader() const { return inputs_[current_].reader; }
    bool read(std::size_t index, Record& record);
    void advance(std::size_t index);
    bool choose();
    bool take(Record& record);
    [[nodiscard]] bool at_hand() const;
    void fetch_ahead(const Record& record);
    void fill(DecodeBatch& batch);
    void read_ahead();
    std::span<decode::Dissection> next_alone();

    std::vector<Input> inputs_;
    Options options_;
    std::size_t current_ = 0;
    // The input that comes first among the others, and its time.
    std::optional<std::pair<std::int64_t, std::size_t>> limit_;
    bool keeps_ = true; // all readers keep their bytes
    bool begun_ = false;
    bool ended_ = false;
    std::uint64_t number_ = 0;
    std::uintptr_t last_at_ = 0; // of the last record that was read
    std::vector<std::pair<std::size_t, ReadError>> errors_;
    std::unique_ptr<DecodePool> pool_;
    const DecodeBatch* given_ = nullptr; // by the last next()
};

} // namespace veriroce::capture
