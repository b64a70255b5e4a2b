// Capture files made in memory, byte by byte, in either byte order. Independent of PcapngWriter.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "dissector/capture/reader.hpp"
#include "tests/temporary_folder.hpp"

namespace veriroce::capture::test {

class FileBytes {
  public:
    explicit FileBytes(bool big_endian = false) : big_endian_(big_endian) {}

    FileBytes& u16(std::uint64_t value) { return put(value, 2); }
    FileBytes& u32(std::uint64_t value) { return put(value, 4); }
    FileBytes& u64(std::uint64_t value) { return put(value, 8); }
    FileBytes& text(std::string_view value) {
        for (const char c : value)
            bytes_.push_back(static_cast<std::byte>(c));
        return *this;
    }
    FileBytes& append(const FileBytes& other) {
        bytes_.insert(bytes_.end(), other.bytes_.begin(), other.bytes_.end());
        return *this;
    }
    FileBytes& pad() {
        while (bytes_.size() % 4 != 0)
            bytes_.push_back(std::byte{0});
        return *this;
    }
    // pcapng: a block of this type around the body.
    FileBytes& block(std::uint32_t type, FileBytes body) {
        body.pad();
        const std::size_t length = body.bytes_.size() + 12;
        return u32(type).u32(length).append(body).u32(length);
    }
    FileBytes& option(std::uint16_t code, std::string_view value) {
        return u16(code).u16(value.size()).text(value).pad();
    }

    [[nodiscard]] const std::vector<std::byte>& bytes() const { return bytes_; }
    [[nodiscard]] bool big_endian() const { return big_endian_; }

  private:
    FileBytes& put(std::uint64_t value, std::size_t count) {
        for (std::size_t i = 0; i < count; ++i) {
            const std::size_t shift = 8 * (big_endian_ ? count - 1 - i : i);
            bytes_.push_back(static_cast<std::byte>(value >> shift));
        }
        return *this;
    }

    std::vector<std::byte> bytes_;
    bool big_endian_;
};

inline FileBytes pcap_header(std::uint32_t magic, bool big_endian, std::uint32_t link = 1) {
    FileBytes file(big_endian);
    return file.u32(magic).u16(2).u16(4).u32(0).u32(0).u32(65535).u32(link);
}

inline FileBytes section(bool big_endian) {
    FileBytes file(big_endian);
    FileBytes body(big_endian);
    body.u32(0x1A2B3C4D).u16(1).u16(0).u64(~std::uint64_t{0});
    return file.block(0x0A0D0D0A, body);
}

// What a reader gave until it ended: copies, and the error if there was one.
struct Packet {
    std::optional<std::int64_t> time_ns;
    std::uint16_t link_code = 0;
    std::uint32_t interface = 0;
    std::uint32_t original_length = 0;
    std::string bytes;
    std::vector<std::string> comments;
};

struct Contents {
    std::vector<Packet> packets;
    std::vector<Interface> interfaces;
    std::optional<ReadError> error;
};

inline Contents drain(std::expected<Reader, ReadError> reader) {
    Contents contents;
    if (!reader) {
        contents.error = reader.error();
        return contents;
    }
    Record record;
    for (;;) {
        const auto more = reader->next(record);
        if (!more) contents.error = more.error();
        if (!more || !*more) break;
        Packet packet{
            .time_ns = record.time_ns,
            .link_code = record.link_code,
            .interface = record.interface,
            .original_length = record.original_length,
            .bytes = {reinterpret_cast<const char*>(record.bytes.data()), record.bytes.size()},
            .comments = {}};
        for (const auto comment : comments_of(record))
            packet.comments.emplace_back(comment);
        contents.packets.push_back(std::move(packet));
    }
    contents.interfaces.assign(reader->interfaces().begin(), reader->interfaces().end());
    return contents;
}

inline std::vector<std::byte> file_bytes(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    const auto bytes = std::as_bytes(std::span(text));
    return {bytes.begin(), bytes.end()};
}

inline std::filesystem::path pcap_path(std::string_view name) {
    return std::filesystem::path(VERIROCE_SOURCE_DIR) / "pcaps" / name;
}

using house::TemporaryFolder;

} // namespace veriroce::capture::test
