#include "dissector/capture/reader.hpp"

#include <algorithm>

namespace veriroce::capture {
namespace {

// Marks whether the error's offset counts decompressed bytes: it does for format errors, but not
// for decompression errors.
ReadError placed(ReadError error, const Source& source) {
    error.decompressed = source.compressed() && !source.error();
    return error;
}

ReadError not_a_capture(wire::Bytes magic) {
    ReadError error{.kind = ReadErrorKind::NotACapture};
    if (magic.empty()) error.kind = ReadErrorKind::Empty;
    std::ranges::copy(magic, error.head.begin());
    error.head_bytes = static_cast<std::uint8_t>(magic.size());
    return error;
}

} // namespace

std::expected<Reader, ReadError> Reader::open(const std::string& path,
                                              const std::atomic<bool>* stop) {
    auto source = Source::open(path, stop);
    if (!source) return std::unexpected(source.error());
    return start(std::move(*source));
}

std::expected<Reader, ReadError> Reader::over(wire::Bytes memory) {
    return start(Source::over(memory));
}

std::expected<Reader, ReadError> Reader::start(Source source) {
    source = Source::decompressed(std::move(source));
    const wire::Bytes magic = source.ahead(4);
    if (source.error()) return std::unexpected(*source.error());
    if (magic.size() < 4) return std::unexpected(placed(not_a_capture(magic), source));
    if (PcapngFormat::recognise(magic)) return Reader(std::move(source), PcapngFormat{});
    std::optional<PcapFormat> pcap = PcapFormat::recognise(magic);
    if (!pcap) return std::unexpected(placed(not_a_capture(magic), source));
    auto interface = pcap->read_header(source);
    if (!interface) return std::unexpected(placed(interface.error(), source));
    Reader reader(std::move(source), *pcap);
    reader.interfaces_.push_back(std::move(*interface));
    return reader;
}

bool Reader::holds_packet() const {
    const auto* pcap = std::get_if<PcapFormat>(&format_);
    const wire::Bytes bytes = source_.at_hand();
    return pcap != nullptr ? pcap->holds_packet(bytes)
                           : std::get<PcapngFormat>(format_).holds_packet(bytes);
}

// The result is constructed at the return statement. Copying an expected object stores bytes and
// loads words, which stalls on store forwarding.
std::expected<bool, ReadError> Reader::next(Record& record) {
    if (failed_) return std::unexpected(*failed_);
    const auto* pcap = std::get_if<PcapFormat>(&format_);
    const auto more = pcap != nullptr
                          ? pcap->next(source_, record)
                          : std::get<PcapngFormat>(format_).next(source_, interfaces_, record);
    if (more) return *more;
    failed_ = placed(more.error(), source_);
    return std::unexpected(*failed_);
}

} // namespace veriroce::capture
