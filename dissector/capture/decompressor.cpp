#include "dissector/capture/decompressor.hpp"

namespace veriroce::capture {
namespace {

constexpr std::size_t kMagicBytes = 4;

} // namespace

Decompressor::Decompressor(Source compressed, Compression compression)
    : compressed_(std::move(compressed)), compression_(compression) {
    if (compression == Compression::Zstd) stream_.emplace<ZstdStream>();
}

std::size_t Decompressor::decompress(std::span<std::byte> out) {
    while (!error_) {
        if (!inside_ && !next_member()) return 0;
        if (compressed_.ahead(1).empty() && compressed_.error()) {
            error_ = compressed_.error();
            return 0;
        }
        // Even with no input left, output that did not fit last time may be pending.
        const wire::Bytes in = compressed_.at_hand();
        const DecompressStep done = step(in, out);
        compressed_.skip(done.consumed);
        switch (done.state) {
        case DecompressStep::State::Corrupt:
            fail(ReadErrorKind::CompressedCorrupt, compressed_.offset(), done.why);
            break;
        case DecompressStep::State::Finished: inside_ = false; break;
        case DecompressStep::State::Inside:
            if (in.empty() && done.produced == 0) {
                fail(ReadErrorKind::CompressedTruncated, compressed_.offset());
            }
            break;
        }
        if (done.produced > 0) return done.produced; // including the bytes before a corrupt point
    }
    return 0;
}

// Whether another member follows the finished one.
bool Decompressor::next_member() {
    const wire::Bytes magic = compressed_.ahead(kMagicBytes);
    if (compressed_.error()) {
        error_ = compressed_.error();
        return false;
    }
    if (magic.empty()) return false;
    if (!may_begin(compression_, magic)) {
        fail(ReadErrorKind::CompressedTrailer, compressed_.offset());
        return false;
    }
    inside_ = true;
    return true;
}

DecompressStep Decompressor::step(wire::Bytes in, std::span<std::byte> out) {
    if (auto* gzip = std::get_if<GzipStream>(&stream_)) return gzip->step(in, out);
    return std::get<ZstdStream>(stream_).step(in, out);
}

void Decompressor::fail(ReadErrorKind kind, std::uint64_t offset, std::string_view why) {
    error_ = {.kind = kind,
              .offset = offset,
              .compression = compression_ == Compression::Gzip ? "gzip" : "zstd",
              .why = why};
}

} // namespace veriroce::capture
