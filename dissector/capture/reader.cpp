#include "dissector/capture/reader.hpp"

#include <algorithm>

namespace veriroce::capture {
namespace {

constexpr std::uint32_t kZstdMagic = 0x28B52FFD;
constexpr std::uint16_t kGzipMagic = 0x1F8B;

ReadError not_a_capture(wire::Bytes magic) {
    ReadError error{.kind = ReadErrorKind::NotACapture};
    if (magic.empty()) error.kind = ReadErrorKind::Empty;
    if (magic.size() >= 2 && wire::load_u16(magic, 0) == kGzipMagic) {
        error.kind = ReadErrorKind::Gzip;
    }
    if (magic.size() == 4 && wire::load_u32(magic, 0) == kZstdMagic) {
        error.kind = ReadErrorKind::Zstd;
    }
    std::ranges::copy(magic, error.head.begin());
    error.head_bytes = static_cast<std::uint8_t>(magic.size());
    return error;
}

} // namespace

std::expected<Reader, ReadError> Reader::open(const std::string& path) {
    auto source = Source::open(path);
    if (!source) return std::unexpected(source.error());
    return start(std::move(*source));
}

std::expected<Reader, ReadError> Reader::over(wire::Bytes memory) {
    return start(Source::over(memory));
}

std::expected<Reader, ReadError> Reader::start(Source source) {
    const wire::Bytes magic = source.ahead(4);
    if (source.error()) return std::unexpected(*source.error());
    if (magic.size() < 4) return std::unexpected(not_a_capture(magic));
    if (PcapngFormat::recognise(magic)) return Reader(std::move(source), PcapngFormat{});
    std::optional<PcapFormat> pcap = PcapFormat::recognise(magic);
    if (!pcap) return std::unexpected(not_a_capture(magic));
    auto interface = pcap->read_header(source);
    if (!interface) return std::unexpected(interface.error());
    Reader reader(std::move(source), *pcap);
    reader.interfaces_.push_back(std::move(*interface));
    return reader;
}

std::expected<bool, ReadError> Reader::next(Record& record) {
    if (failed_) return std::unexpected(*failed_);
    std::expected<bool, ReadError> more = false;
    if (const auto* pcap = std::get_if<PcapFormat>(&format_)) {
        more = pcap->next(source_, record);
    } else {
        more = std::get<PcapngFormat>(format_).next(source_, interfaces_, record);
    }
    if (!more) failed_ = more.error();
    return more;
}

} // namespace veriroce::capture
