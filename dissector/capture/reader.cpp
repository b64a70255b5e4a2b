#include "dissector/capture/reader.hpp"

#include <algorithm>
#include <cassert>

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

std::expected<Reader, ReadError> Reader::over(wire::Bytes memory, std::uint64_t from) {
    auto reader = start(Source::over(memory));
    if (!reader || from <= reader->source_.offset()) return reader;
    assert(std::holds_alternative<PcapFormat>(reader->format_) && from <= memory.size());
    reader->source_.skip(from - reader->source_.offset());
    return reader;
}

std::expected<Reader, ReadError> Reader::start(Source source) {
    source = Source::decompressed(std::move(source));
    const wire::Bytes magic = source.ahead(4);
    if (source.error()) return std::unexpected(*source.error());
    if (magic.size() < 4) return std::unexpected(placed(not_a_capture(magic), source));
    if (PcapngFormat::recognise(magic)) return Reader(std::move(source), PcapngFormat{});
    std::optional<PcapFormat> pcap = PcapFormat::recognise(magic);
    if (!pcap) {
        const ReadError error = not_a_capture(magic);
        const std::optional<ErfFormat> erf = ErfFormat::recognise(source);
        if (!erf) return std::unexpected(placed(error, source));
        Reader reader(std::move(source), *erf);
        reader.interfaces_.push_back(ErfFormat::interface());
        return reader;
    }
    auto interface = pcap->read_header(source);
    if (!interface) return std::unexpected(placed(interface.error(), source));
    Reader reader(std::move(source), *pcap);
    reader.interfaces_.push_back(std::move(*interface));
    return reader;
}

std::expected<bool, ReadError> Reader::next_of_format(Record& record) {
    if (auto* pcapng = std::get_if<PcapngFormat>(&format_)) {
        return pcapng->next(source_, interfaces_, record);
    }
    return ErfFormat::next(source_, record);
}

bool Reader::holds_packet() const {
    const wire::Bytes bytes = source_.at_hand();
    if (const auto* pcap = std::get_if<PcapFormat>(&format_)) return pcap->holds_packet(bytes);
    const auto* pcapng = std::get_if<PcapngFormat>(&format_);
    return pcapng != nullptr && pcapng->holds_packet(bytes);
}

// The result is constructed at the return statement. Copying an expected object stores bytes and
// loads words, which stalls on store forwarding.
std::expected<bool, ReadError> Reader::next(Record& record) {
    if (failed_) return std::unexpected(*failed_);
    const auto* pcap = std::get_if<PcapFormat>(&format_);
    const auto more = pcap != nullptr ? pcap->next(source_, record) : next_of_format(record);
    if (more) {
        if (record.link_code == kErfLinkCode && *more) take_erf_time(record);
        return *more;
    }
    failed_ = placed(more.error(), source_);
    return std::unexpected(*failed_);
}

} // namespace veriroce::capture
