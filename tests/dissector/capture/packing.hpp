// Compressed bytes, made by the libraries themselves.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include <catch2/catch.hpp>
#include <zlib.h>
#include <zstd.h>

namespace veriroce::capture::test {

using Bytes = std::vector<std::byte>;

inline Bytes gzip(std::span<const std::byte> plain) {
    z_stream stream{};
    REQUIRE(deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) == Z_OK);
    Bytes packed(deflateBound(&stream, plain.size()) + 64);
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(plain.data()));
    stream.avail_in = static_cast<uInt>(plain.size());
    stream.next_out = reinterpret_cast<Bytef*>(packed.data());
    stream.avail_out = static_cast<uInt>(packed.size());
    REQUIRE(deflate(&stream, Z_FINISH) == Z_STREAM_END);
    packed.resize(stream.total_out);
    deflateEnd(&stream);
    return packed;
}

inline Bytes zstd(std::span<const std::byte> plain) {
    Bytes packed(ZSTD_compressBound(plain.size()));
    ZSTD_CCtx* context = ZSTD_createCCtx();
    ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1);
    const std::size_t size =
        ZSTD_compress2(context, packed.data(), packed.size(), plain.data(), plain.size());
    ZSTD_freeCCtx(context);
    REQUIRE_FALSE(ZSTD_isError(size));
    packed.resize(size);
    return packed;
}

struct Packer {
    std::string name;
    Bytes (*pack)(std::span<const std::byte>);
};
inline const std::vector<Packer> kPackers{{"gzip", gzip}, {"zstd", zstd}};

// Packed in pieces of at most `piece` bytes, each a member of its own.
inline Bytes packed_in_pieces(const Packer& packer, std::span<const std::byte> plain,
                              std::size_t piece) {
    Bytes packed;
    for (std::size_t at = 0; at < plain.size(); at += piece) {
        const Bytes member = packer.pack(plain.subspan(at, std::min(piece, plain.size() - at)));
        packed.insert(packed.end(), member.begin(), member.end());
    }
    return packed;
}

} // namespace veriroce::capture::test
