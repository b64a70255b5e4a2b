#include "reports/pcapng.hpp"

#include <algorithm>
#include <utility>
#include <vector>

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

std::expected<void, WriteError> write_case(PcapngWriter& writer, const CaseResult& result) {
    // A frame is recorded when it is decided upon and stamped when it was on the wire.
    std::vector<const RecordedPacket*> packets;
    for (const RecordedPacket& packet : result.packets) {
        if (packet.on_wire) packets.push_back(&packet);
    }
    // Equal times keep the order of the record: the pointers are into one vector.
    std::ranges::sort(packets, {}, [](const auto* one) { return std::pair(one->at.latest, one); });
    for (const RecordedPacket* packet : packets) {
        std::vector<std::string> comments{safe_text(result.id + ": " + packet->script)};
        const auto place = static_cast<std::size_t>(packet - result.packets.data());
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
