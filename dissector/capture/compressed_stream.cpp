#include "dissector/capture/compressed_stream.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <new>

namespace veriroce::capture {
namespace {

using State = DecompressStep::State;

constexpr std::array kGzipMagic{std::byte{0x1F}, std::byte{0x8B}};
constexpr std::array kZstdMagic{std::byte{0x28}, std::byte{0xB5}, std::byte{0x2F}, std::byte{0xFD}};
// A skippable frame begins with 0x5? 0x2A 0x4D 0x18; parallel compressors write one first.
constexpr std::array kSkippableMagic{std::byte{0x50}, std::byte{0x2A}, std::byte{0x4D},
                                     std::byte{0x18}};
// The most that one step processes: zlib counts in 32 bits.
constexpr std::size_t kStepBytes = std::size_t{1} << 20;
constexpr int kGzipWindow = 15 + 16; // the largest window; + 16 asks for gzip's header and trailer

bool begins(wire::Bytes bytes, wire::Bytes magic) {
    const std::size_t size = std::min(bytes.size(), magic.size());
    return size > 0 && std::ranges::equal(bytes.first(size), magic.first(size));
}

bool skippable(wire::Bytes bytes) {
    if (bytes.empty() || (bytes[0] & std::byte{0xF0}) != kSkippableMagic[0]) return false;
    return bytes.size() == 1 || begins(bytes.subspan(1), wire::Bytes(kSkippableMagic).subspan(1));
}

} // namespace

std::optional<Compression> compression_of(wire::Bytes magic) {
    const auto begun = [&](Compression compression, std::size_t needed) {
        return magic.size() >= needed && may_begin(compression, magic);
    };
    if (begun(Compression::Gzip, kGzipMagic.size())) return Compression::Gzip;
    if (begun(Compression::Zstd, kZstdMagic.size())) return Compression::Zstd;
    return std::nullopt;
}

bool may_begin(Compression compression, wire::Bytes bytes) {
    switch (compression) {
    case Compression::Gzip: return begins(bytes, kGzipMagic);
    case Compression::Zstd: return begins(bytes, kZstdMagic) || skippable(bytes);
    }
    return false;
}

GzipStream::GzipStream() {
    if (::inflateInit2(&stream_, kGzipWindow) != Z_OK) throw std::bad_alloc();
}

GzipStream::~GzipStream() {
    ::inflateEnd(&stream_);
}

DecompressStep GzipStream::step(wire::Bytes in, std::span<std::byte> out) {
    const std::size_t given = std::min(in.size(), kStepBytes);
    const std::size_t room = std::min(out.size(), kStepBytes);
    // zlib's pointer lacks const, but zlib does not write there.
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(in.data()));
    stream_.avail_in = static_cast<uInt>(given);
    stream_.next_out = reinterpret_cast<Bytef*>(out.data());
    stream_.avail_out = static_cast<uInt>(room);
    const int result = ::inflate(&stream_, Z_NO_FLUSH);
    DecompressStep step{.consumed = given - stream_.avail_in, .produced = room - stream_.avail_out};
    if (result == Z_STREAM_END) {
        step.state = State::Finished;
        ::inflateReset(&stream_);
    } else if (result != Z_OK && result != Z_BUF_ERROR) {
        step.state = State::Corrupt;
        step.why = stream_.msg != nullptr ? stream_.msg : ::zError(result);
    }
    return step;
}

ZstdStream::ZstdStream() : context_(::ZSTD_createDCtx()) {
    if (context_ == nullptr) throw std::bad_alloc();
}

ZstdStream::~ZstdStream() {
    ::ZSTD_freeDCtx(context_);
}

DecompressStep ZstdStream::step(wire::Bytes in, std::span<std::byte> out) {
    ::ZSTD_inBuffer from{in.data(), std::min(in.size(), kStepBytes), 0};
    ::ZSTD_outBuffer to{out.data(), std::min(out.size(), kStepBytes), 0};
    const std::size_t result = ::ZSTD_decompressStream(context_, &to, &from);
    DecompressStep step{.consumed = from.pos, .produced = to.pos};
    if (::ZSTD_isError(result) != 0) {
        step.state = State::Corrupt;
        step.why = ::ZSTD_getErrorName(result);
    } else if (result == 0) {
        step.state = State::Finished;
    }
    return step;
}

} // namespace veriroce::capture
