// One run of the command: the compiled options, the loop over packets, and the processing of each.
// Internal to this room.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <optional>

#include "dissector/capture/bpf.hpp"
#include "dissector/capture/decoded_frames.hpp"
#include "dissector/capture/live.hpp"
#include "dissector/decode/decoder.hpp"
#include "dissector/dissect/dissect.hpp"
#include "dissector/dissect/followed.hpp"
#include "dissector/dissect/not_followed.hpp"
#include "dissector/dissect/progress.hpp"
#include "dissector/dissect/rewrite.hpp"
#include "dissector/dissect/statistics.hpp"
#include "dissector/filter/filter.hpp"
#include "dissector/flow/follower.hpp"
#include "dissector/flow/upper_connections.hpp"
#include "dissector/print/ladder.hpp"
#include "dissector/print/line.hpp"
#include "dissector/print/output.hpp"
#include "dissector/print/table.hpp"
#include "dissector/print/tree.hpp"

namespace veriroce::dissect {

void say(std::FILE* err, std::string_view message);

struct Compiled {
    print::Columns columns;
    filter::Filter filter;
    std::optional<capture::Bpf> capture_filter;
    flow::DecodeAs decode_as;
    std::optional<Followed> followed; // --follow
    print::DetailedLayers detailed;
    std::optional<FileLimits> autostop; // -a
    std::optional<FileLimits> ring;     // -b
};

class Session {
  public:
    Session(const Options& options, Compiled compiled, std::FILE* out, std::FILE* err);
    int run();

  private:
    [[nodiscard]] bool needs_icrc() const;
    [[nodiscard]] bool needs_flow() const;
    [[nodiscard]] bool needs_comments() const;
    [[nodiscard]] bool enough() const;
    // False if a file or a summary is written instead of packets.
    [[nodiscard]] bool prints_packets() const;

    void begin();
    void end();
    int exit_code();
    [[nodiscard]] bool interrupted() const;
    bool start_writing();
    void finish_writing();

    // False if the run is over: the packet limit was reached, or the output is closed.
    bool read_file(const std::string& file);
    void read_live();
    // Finds the connection of --follow in a file; false if there is none to show.
    bool find_followed(const std::string& file);
    [[nodiscard]] bool selected() const;
    void begin_input(const std::string& name);
    // Whether a batch is counted as a whole: nothing but the summary depends on its packets.
    [[nodiscard]] bool counts_batches() const;
    bool count_batch(const capture::DecodedFrames& frames, std::size_t size);
    // The packets that the capture filter selects are decoded.
    capture::DecodedFrames decoded(capture::Reader reader);
    bool read_frames(capture::DecodedFrames& frames, const std::string& file);
    bool read_batch(std::span<decode::Dissection> batch, const capture::DecodedFrames& frames,
                    const std::string& file);
    void read_packets(capture::Live& live);
    // A decoded packet.
    bool take(const capture::Record& record, decode::Dissection& dissection,
              std::span<const capture::Interface> interfaces, const std::string& name);
    void report_unfiltered(const std::string& file);
    void report_unsupported(const std::string& name);
    void report_evicted(const std::string& name);
    bool write(std::span<const capture::Interface> interfaces);
    bool pass(bool now);

    void report_error(std::string_view message); // reports an error and makes the command fail
    void warn(std::string_view message);
    void name_file(const std::string& file);
    void cut(capture::Record& record) const;
    void fill_facts(std::span<const capture::Interface> interfaces);
    void fill_interface(const capture::Interface& interface);
    void packet(const std::string& file);
    void text();
    void ladder();
    void json(std::string_view file);

    const Options& options_;
    Compiled compiled_;
    print::Output out_;
    std::FILE* err_;
    bool to_terminal_;
    bool at_once_; // write each packet as soon as it is printed
    Progress progress_;
    std::optional<Rewriter> rewriter_;
    bool output_closed_ = false; // the reader of the output has closed it
    decode::Options decode_;
    bool tells_comments_ = false;
    std::vector<std::string_view> comments_; // of the current packet
    flow::UpperConnections upper_;
    bool follows_ = false;                     // connections
    std::unique_ptr<flow::Follower> follower_; // of the file, whose packets it knows by number
    const capture::Record* record_ = nullptr;  // the current packet's
    decode::Dissection* dissection_ = nullptr; // likewise
    // Of this input:
    std::string_view input_name_;
    std::uint64_t number_ = 0;
    std::optional<std::int64_t> first_time_ns_;
    std::optional<std::int64_t> last_time_ns_;
    Statistics statistics_;
    std::vector<CountedBatch> counted_; // by DecodedFrames::place(); empty unless counts_batches()
    NotFollowedCounts not_followed_;
    std::map<std::uint32_t, std::uint64_t> unsupported_; // frames of this file by link type
    print::TimeColumn time_;
    print::Ladder ladder_;
    bool learns_ = false; // which packets are those of --follow, while they are shown
    bool names_file_;     // in each JSON packet
    std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
    std::uint64_t printed_ = 0;
    std::uint64_t read_ = 0;
    std::uint64_t packets_ = 0; // that passed the capture filter
    std::uint64_t roce_packets_ = 0;
    std::uint64_t packets_with_findings_ = 0;
    bool failed_ = false;
};

} // namespace veriroce::dissect
