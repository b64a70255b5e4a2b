#include "transport/inject/recorder.hpp"

#include <fmt/format.h>

#include "dissector/wire/safe_text.hpp"

namespace veriroce::inject {

std::expected<Recorder, std::string> Recorder::create(const std::string& path, const std::string& a,
                                                      const std::string& b,
                                                      std::span<const fault::Rule> rules,
                                                      wire::Duration realtime_offset) {
    auto writer = capture::PcapngWriter::create(path, "veriroce inject");
    if (!writer) return std::unexpected(capture::text_of(writer.error(), path));
    for (const std::string& name : {a, b}) {
        if (const auto added = writer->add_interface({.name = name}); !added) {
            return std::unexpected(capture::text_of(added.error(), path));
        }
    }
    return Recorder(std::move(*writer), path, rules, realtime_offset);
}

void Recorder::write(End port, wire::Bytes frame, capture::Direction direction, wire::Instant at) {
    if (failed_ || full_) return;
    full_ = writer_.bytes() > kMaxCaptureBytes;
    const auto written = writer_.write({.interface = port == End::A ? 0U : 1U,
                                        .time_ns = (at.time_since_epoch() + offset_).count(),
                                        .bytes = frame,
                                        .direction = direction,
                                        .comments = comments_});
    if (!written) failed_ = written.error();
}

void Recorder::came(End port, wire::Bytes frame, const Handled& handled, wire::Instant at) {
    comments_.clear();
    for (const std::size_t rule : handled.rules) {
        if (handled.pfc) {
            comments_.push_back(wire::safe_text(
                fmt::format("injected, line {}: {}", rules_[rule].line, rules_[rule].text)));
            continue;
        }
        comments_.push_back(wire::safe_text(
            fmt::format("injected, line {}: {} (connection {}, PSN {}, transmission {}, message "
                        "{}, packet {})",
                        rules_[rule].line, rules_[rule].text, handled.place.connection,
                        handled.place.psn, handled.pass, handled.message, handled.packet)));
    }
    write(port, frame, capture::Direction::Inbound, at);
}

void Recorder::went(End port, wire::Bytes frame, bool changed, wire::Instant at) {
    comments_.clear();
    if (changed) comments_.emplace_back("changed, delayed or made by the plan");
    write(port, frame, capture::Direction::Outbound, at);
}

std::expected<void, std::string> Recorder::finish() {
    if (failed_) return std::unexpected(capture::text_of(*failed_, path_));
    if (const auto done = writer_.finish(); !done) {
        return std::unexpected(capture::text_of(done.error(), path_));
    }
    return {};
}

} // namespace veriroce::inject
