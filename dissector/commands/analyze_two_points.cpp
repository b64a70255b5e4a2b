#include "dissector/commands/analyze_two_points.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <set>

#include <fmt/format.h>

#include "dissector/capture/decoded_frames.hpp"
#include "dissector/command_line/exit_code.hpp"
#include "dissector/command_line/stop_on_signal.hpp"
#include "dissector/print/output.hpp"
#include "dissector/two_points/report.hpp"
#include "dissector/wire/safe_text.hpp"

namespace veriroce::commands {
namespace {

using namespace command_line;
using two_points::Point;

// The packets of the files of one point, one at a time.
class PacketsOfPoint {
  public:
    PacketsOfPoint(capture::DecodedFrames frames, Point point)
        : frames_(std::move(frames)), point_(point) {
        advance();
    }

    // Null at the end. Valid until advance().
    [[nodiscard]] const flow::Packet* now() const { return packet_ ? &*packet_ : nullptr; }
    [[nodiscard]] Point point() const { return point_; }
    [[nodiscard]] const capture::DecodedFrames& frames() const { return frames_; }

    void advance() {
        for (;;) {
            if (next_ == some_.size()) {
                some_ = frames_.next();
                next_ = 0;
                if (some_.empty()) {
                    packet_.reset();
                    return;
                }
            }
            packet_ = flow::packet_of(some_[next_++]);
            if (packet_ && packet_->time) return;
        }
    }

  private:
    capture::DecodedFrames frames_;
    std::span<decode::Dissection> some_;
    std::size_t next_ = 0;
    Point point_;
    std::optional<flow::Packet> packet_;
};

class TwoPointSession {
  public:
    TwoPointSession(const AnalyzeOptions& options, std::FILE* out, std::FILE* err)
        : options_(options), out_(out), err_(err) {}

    int run() {
        const StopOnSignal stop;
        two_points::Clocks clocks;
        for (const Point point : {Point::First, Point::Second}) {
            PacketsOfPoint packets = open(point);
            for (; packets.now() != nullptr && !StopOnSignal::requested(); packets.advance())
                clocks.add(point, *packets.now());
            complain_of(packets);
        }
        if (StopOnSignal::requested()) return interrupted();
        if (!clocks.compare()) {
            say("nothing was compared: no packet is in the captures of both points");
            return kExitUnable;
        }
        two_points::Passages passages(clocks);
        follow(clocks, passages);
        if (StopOnSignal::requested()) return interrupted();
        passages.finish();
        write(clocks, passages);
        if (out_.error() == EPIPE) return kExitSuccess;
        if (out_.error() != 0) {
            say(fmt::format("writing failed: {}", std::strerror(out_.error())));
            return kExitUnable;
        }
        const bool healthy = std::ranges::all_of(passages.flows(), [this](const auto& flow) {
            return flow.lost_part() <= options_.thresholds.resent_part;
        });
        if (!healthy) return kExitFound;
        return failed_ ? kExitUnable : kExitSuccess;
    }

  private:
    [[nodiscard]] const std::vector<std::string>& files_of(Point point) const {
        return point == Point::First ? options_.files : options_.second;
    }

    PacketsOfPoint open(Point point) {
        std::vector<capture::Reader> readers;
        for (const std::string& file : files_of(point)) {
            auto reader = capture::Reader::open(file, &StopOnSignal::flag());
            if (StopOnSignal::requested()) break;
            if (reader) {
                readers.push_back(std::move(*reader));
            } else {
                say(capture::text_of(reader.error(), file));
            }
        }
        capture::DecodedFrames::Options reading;
        reading.decode.also_roce_ports = options_.roce_ports;
        reading.threads = options_.threads;
        return {capture::DecodedFrames(std::move(readers), std::move(reading)), point};
    }

    // Both in the order of time on the first point's clock.
    void follow(const two_points::Clocks& clocks, two_points::Passages& passages) {
        std::array points{open(Point::First), open(Point::Second)};
        const auto time_of = [&](const PacketsOfPoint& packets) {
            return clocks.on_first(packets.point(), *packets.now()->time);
        };
        while (!StopOnSignal::requested()) {
            const bool first = points[0].now() != nullptr;
            const bool second = points[1].now() != nullptr;
            if (!first && !second) return;
            const bool take_first = first && (!second || time_of(points[0]) <= time_of(points[1]));
            PacketsOfPoint& packets = points[take_first ? 0 : 1];
            passages.observe(packets.point(), *packets.now());
            packets.advance();
        }
    }

    void write(const two_points::Clocks& clocks, const two_points::Passages& passages) {
        if (options_.format == AnalyzeFormat::Json) {
            two_points::append_json(out_.text(), clocks, passages);
        } else {
            two_points::append_text(out_.text(), clocks, passages, options_.text.top);
        }
        out_.flush();
    }

    void complain_of(const PacketsOfPoint& packets) {
        for (const auto& [file, error] : packets.frames().errors())
            say(capture::text_of(error, files_of(packets.point())[file]));
    }

    // Each thing once, though every file is read twice.
    void say(const std::string& message) {
        failed_ = true;
        if (!said_.insert(message).second) return;
        fmt::print(err_, "veriroce: {}\n", wire::safe_text(message, true));
    }

    int interrupted() {
        say("analyze: interrupted before the end");
        return kExitInterrupted;
    }

    const AnalyzeOptions& options_;
    print::Output out_;
    std::FILE* err_;
    std::set<std::string> said_;
    bool failed_ = false;
};

} // namespace

int run_two_points(const AnalyzeOptions& options, std::FILE* out, std::FILE* err) {
    return TwoPointSession(options, out, err).run();
}

} // namespace veriroce::commands
