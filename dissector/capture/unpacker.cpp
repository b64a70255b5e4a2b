#include "dissector/capture/unpacker.hpp"

namespace veriroce::capture {
namespace {

constexpr std::size_t kMagicBytes = 4;

} // namespace

Unpacker::Unpacker(Source packed, Packing packing) : packed_(std::move(packed)), packing_(packing) {
    if (packing == Packing::Zstd) stream_.emplace<ZstdStream>();
}

std::size_t Unpacker::unpack(std::span<std::byte> out) {
    while (!error_) {
        if (!inside_ && !next_member()) return 0;
        if (packed_.ahead(1).empty() && packed_.error()) {
            error_ = packed_.error();
            return 0;
        }
        // No input may still have output: what did not fit last time.
        const wire::Bytes in = packed_.at_hand();
        const PackedStep done = step(in, out);
        packed_.skip(done.consumed);
        switch (done.state) {
        case PackedStep::State::Corrupt:
            fail(ReadErrorKind::PackedCorrupt, packed_.offset(), done.why);
            break;
        case PackedStep::State::Finished: inside_ = false; break;
        case PackedStep::State::Inside:
            if (in.empty() && done.produced == 0) {
                fail(ReadErrorKind::PackedTruncated, packed_.offset());
            }
            break;
        }
        if (done.produced > 0) return done.produced; // also those before a corrupt place
    }
    return 0;
}

// Whether another member follows the one that ended.
bool Unpacker::next_member() {
    const wire::Bytes magic = packed_.ahead(kMagicBytes);
    if (packed_.error()) {
        error_ = packed_.error();
        return false;
    }
    if (magic.empty()) return false;
    if (!may_begin(packing_, magic)) {
        fail(ReadErrorKind::PackedTrailer, packed_.offset());
        return false;
    }
    inside_ = true;
    return true;
}

PackedStep Unpacker::step(wire::Bytes in, std::span<std::byte> out) {
    if (auto* gzip = std::get_if<GzipStream>(&stream_)) return gzip->step(in, out);
    return std::get<ZstdStream>(stream_).step(in, out);
}

void Unpacker::fail(ReadErrorKind kind, std::uint64_t offset, std::string_view why) {
    error_ = {.kind = kind,
              .offset = offset,
              .packing = packing_ == Packing::Gzip ? "gzip" : "zstd",
              .why = why};
}

} // namespace veriroce::capture
