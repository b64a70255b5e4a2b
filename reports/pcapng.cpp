#include "reports/pcapng.hpp"

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "dissector/capture/pcapng_writer.hpp"
#include "dissector/wire/safe_text.hpp"
#include "reports/case_rows.hpp"

namespace veriroce::reports {
namespace {

using wire::safe_text;

std::expected<void, std::string> write_cases(std::span<const interpreter::CaseResult> cases,
                                             const std::string& path) {
    const auto text = [&](const capture::WriteError& error) {
        return std::unexpected(capture::text_of(error, path));
    };
    auto writer = capture::PcapngWriter::create(path, "veriroce");
    if (!writer) return text(writer.error());
    const auto interface = writer->add_interface({.name = "tester"});
    if (!interface) return text(interface.error());
    for (const interpreter::CaseResult& result : cases) {
        // A frame is recorded when it is decided upon and stamped when it was on the wire.
        std::vector<const interpreter::RecordedPacket*> packets;
        for (const interpreter::RecordedPacket& packet : result.packets) {
            if (packet.on_wire) packets.push_back(&packet);
        }
        // Equal times keep the order of the record: the pointers are into one vector.
        std::ranges::sort(packets, {},
                          [](const auto* one) { return std::pair(one->at.latest, one); });
        for (const interpreter::RecordedPacket* packet : packets) {
            std::vector<std::string> comments{safe_text(result.id + ": " + packet->script)};
            const auto place = static_cast<std::size_t>(packet - result.packets.data());
            for (const std::string& remark : remarks_of(result, place))
                comments.push_back(safe_text(remark));
            const auto written = writer->write(
                {.interface = *interface,
                 .time_ns = std::max<std::int64_t>(0, packet->at.latest.time_since_epoch().count()),
                 .bytes = packet->frame,
                 .direction = packet->from == interpreter::Side::Tester
                                  ? capture::Direction::Outbound
                                  : capture::Direction::Inbound,
                 .comments = comments});
            if (!written) return text(written.error());
        }
    }
    if (const auto finished = writer->finish(); !finished) return text(finished.error());
    return {};
}

} // namespace

std::expected<void, std::string> write_pcapng(const interpreter::CaseResult& result,
                                              const std::string& path) {
    return write_cases({&result, 1}, path);
}

std::expected<void, std::string> write_pcapng(const plan::RunResults& results,
                                              const std::string& path) {
    return write_cases(results.cases, path);
}

} // namespace veriroce::reports
