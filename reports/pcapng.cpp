#include "reports/pcapng.hpp"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "conformance/plan/shell_word.hpp"
#include "dissector/capture/reader.hpp"
#include "dissector/wire/safe_text.hpp"
#include "reports/case_rows.hpp"

namespace veriroce::reports {
namespace {

using capture::PcapngWriter;
using capture::WriteError;
using interpreter::CaseResult;
using interpreter::RecordedPacket;
using wire::safe_text;

constexpr std::uint32_t kTester = 0; // the only interface

std::expected<PcapngWriter, WriteError> create(const std::string& path,
                                               PcapngWriter::Appears appears) {
    auto writer = PcapngWriter::create(path, "veriroce", appears);
    if (!writer) return writer;
    const auto interface = writer->add_interface({.name = "tester"});
    if (!interface) return std::unexpected(interface.error());
    return writer;
}

// The packets that a capture has, in its order, by their places. A frame is recorded when it is
// decided upon and stamped when it was on the wire; equal times keep the order of the record.
std::vector<std::size_t> captured(const CaseResult& result) {
    std::vector<std::size_t> places;
    for (std::size_t i = 0; i < result.packets.size(); ++i) {
        if (result.packets[i].on_wire) places.push_back(i);
    }
    std::ranges::sort(places, {}, [&](std::size_t place) {
        return std::pair(result.packets[place].at.latest, place);
    });
    return places;
}

// The packet that the verdict is about; of a violation the last one, which showed it.
std::optional<std::size_t> accused(const CaseResult& result) {
    if (const auto* blamed = result.blamed(); blamed != nullptr && blamed->packet) {
        return blamed->packet;
    }
    for (const interpreter::Violation& violation : result.violations) {
        if (violation.certain && !violation.packets.empty())
            return std::ranges::max(violation.packets);
    }
    return std::nullopt;
}

std::expected<void, WriteError> write_case(PcapngWriter& writer, const CaseResult& result) {
    for (const std::size_t place : captured(result)) {
        const RecordedPacket* packet = &result.packets[place];
        std::vector<std::string> comments{safe_text(result.id + ": " + packet->script)};
        for (const std::string& remark : remarks_of(result, place))
            comments.push_back(safe_text(remark));
        const auto written = writer.write(
            {.interface = kTester,
             .time_ns = std::max<std::int64_t>(0, packet->at.latest.time_since_epoch().count()),
             .bytes = packet->frame,
             .direction = packet->from == interpreter::Side::Tester ? capture::Direction::Outbound
                                                                    : capture::Direction::Inbound,
             .comments = comments});
        if (!written) return written;
    }
    return {};
}

std::expected<void, std::string> told(const std::expected<void, WriteError>& written,
                                      const std::string& path) {
    if (written) return {};
    return std::unexpected(capture::text_of(written.error(), path));
}

} // namespace

std::expected<void, std::string> write_pcapng(const CaseResult& result, const std::string& path) {
    auto writer = create(path, PcapngWriter::Appears::WhenFinished);
    if (!writer) return std::unexpected(capture::text_of(writer.error(), path));
    if (const auto written = write_case(*writer, result); !written) return told(written, path);
    return told(writer->finish(), path);
}

std::string capture_name(std::string_view id, std::size_t play) {
    std::string name(id);
    std::ranges::replace_if(
        name, [](char c) { return std::string_view("/[],=").contains(c); }, '-');
    return play == 0 ? name + ".pcapng" : fmt::format("{}.play-{}.pcapng", name, play);
}

std::string open_command(const CaseResult& result) {
    if (result.capture.empty()) return {};
    const std::string file = plan::shell_word(result.capture);
    const auto place = accused(result);
    const std::vector<std::size_t> places = captured(result);
    const auto found = place ? std::ranges::find(places, *place) : places.end();
    if (found == places.end()) return "wireshark " + file;
    return fmt::format("wireshark -g {} {}", found - places.begin() + 1, file);
}

bool take_frames(CaseResult& result, const std::string& path) {
    auto reader = capture::Reader::open(path);
    if (!reader) return false;
    const std::vector<std::size_t> places = captured(result);
    std::vector<std::vector<std::byte>> frames;
    for (capture::Record record;;) {
        const auto more = reader->next(record);
        if (!more) return false;
        if (!*more) break;
        const std::size_t place = frames.size();
        if (place == places.size() ||
            record.bytes.size() != result.packets[places[place]].frame.size()) {
            return false;
        }
        frames.emplace_back(record.bytes.begin(), record.bytes.end());
    }
    if (frames.size() != places.size()) return false;
    for (std::size_t i = 0; i < places.size(); ++i)
        result.packets[places[i]].frame = std::move(frames[i]);
    return true;
}

std::expected<RunCapture, std::string> RunCapture::create(const std::string& path) {
    auto writer = reports::create(path, PcapngWriter::Appears::AtOnce);
    if (!writer) return std::unexpected(capture::text_of(writer.error(), path));
    if (const auto written = told(writer->flush(), path); !written) {
        return std::unexpected(written.error());
    }
    return RunCapture(std::move(*writer), path);
}

std::expected<void, std::string> RunCapture::add(const CaseResult& result) {
    if (const auto written = write_case(writer_, result); !written) return told(written, path_);
    return told(writer_.flush(), path_);
}

std::expected<void, std::string> RunCapture::finish() {
    return told(writer_.finish(), path_);
}

} // namespace veriroce::reports
