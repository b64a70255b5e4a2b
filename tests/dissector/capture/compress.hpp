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
    Bytes compressed(deflateBound(&stream, plain.size()) + 64);
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(plain.data()));
    stream.avail_in = static_cast<uInt>(plain.size());
    stream.next_out = reinterpret_cast<Bytef*>(compressed.data());
    stream.avail_out = static_cast<uInt>(compressed.size());
    REQUIRE(deflate(&stream, Z_FINISH) == Z_STREAM_END);
    compressed.resize(stream.total_out);
    deflateEnd(&stream);
    return compressed;
}

inline Bytes zstd(std::span<const std::byte> plain) {
    Bytes compressed(ZSTD_compressBound(plain.size()));
    ZSTD_CCtx* context = ZSTD_createCCtx();
    ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1);
    const std::size_t size =
        ZSTD_compress2(context, compressed.data(), compressed.size(), plain.data(), plain.size());
    ZSTD_freeCCtx(context);
    REQUIRE_FALSE(ZSTD_isError(size));
    compressed.resize(size);
    return compressed;
}

struct Compressor {
    std::string name;
    Bytes (*compress)(std::span<const std::byte>);
};
inline const std::vector<Compressor> kCompressors{{"gzip", gzip}, {"zstd", zstd}};

// Compressed in pieces of at most `piece` bytes, each a member of its own.
inline Bytes compressed_in_pieces(const Compressor& compressor, std::span<const std::byte> plain,
                                  std::size_t piece) {
    Bytes compressed;
    for (std::size_t at = 0; at < plain.size(); at += piece) {
        const Bytes member =
            compressor.compress(plain.subspan(at, std::min(piece, plain.size() - at)));
        compressed.insert(compressed.end(), member.begin(), member.end());
    }
    return compressed;
}

} // namespace veriroce::capture::test
