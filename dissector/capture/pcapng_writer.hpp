// Writes pcapng: one section, interfaces with times in nanoseconds, enhanced packet blocks with
// comments and a direction. Wireshark shows the comments beside the packets.
//
// The file grows under a temporary name beside its own and takes its own name in finish(), so that
// nothing half-written is left under it. A writer that is destroyed before finish() removes the
// temporary file. What is no regular file (a pipe, /dev/stdout) is written as it is.
//
// Source: draft-ietf-opsawg-pcapng.
#pragma once

#include <expected>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "dissector/capture/record.hpp"

namespace veriroce::capture {

enum class WriteErrorKind : std::uint8_t {
    Create, // `system` is errno, as in the next two
    Write,
    Rename,
    CommentTooLong,   // an option holds 65,535 bytes
    PacketTooLong,    // more than kMaxPacketBytes
    UnknownInterface, // not one that add_interface gave
    NoTime,           // and no shape that has none
};

struct WriteError {
    WriteErrorKind kind = WriteErrorKind::Create;
    int system = 0;
};

// One line for people.
std::string text_of(const WriteError& error, std::string_view path);

struct InterfaceSpec {
    std::uint16_t link_code = 1;   // Ethernet
    std::uint32_t snap_length = 0; // 0: no limit
    std::string_view name;         // empty: not written
    std::string_view description;  // likewise
};

struct PacketSpec {
    std::uint32_t interface = 0;
    // Since 1970, not negative. Without a time only what has_simple_shape() can be written.
    std::optional<std::int64_t> time_ns = 0;
    wire::Bytes bytes;
    std::uint32_t original_length = 0; // 0: as many as `bytes` has
    Direction direction = Direction::Unknown;
    std::span<const std::string> comments;
};

class PcapngWriter {
  public:
    // "-" is standard output. `application` names the program in the section header.
    static std::expected<PcapngWriter, WriteError> create(const std::string& path,
                                                          std::string_view application);

    PcapngWriter(const PcapngWriter&) = delete;
    PcapngWriter& operator=(const PcapngWriter&) = delete;
    PcapngWriter(PcapngWriter&& other) noexcept;
    PcapngWriter& operator=(PcapngWriter&&) = delete;
    ~PcapngWriter();

    // Returns the number that packets of this interface carry.
    std::expected<std::uint32_t, WriteError> add_interface(const InterfaceSpec& spec);
    std::expected<void, WriteError> write(const PacketSpec& packet);
    // Whether pcapng has a block without a time for it, a simple packet block: of the first
    // interface, as long as that says, without comments or direction.
    [[nodiscard]] bool has_simple_shape(const PacketSpec& packet) const;
    // Writes what is buffered, for who reads along.
    std::expected<void, WriteError> flush();
    // Writes what is buffered and gives the file its name. Nothing may be written afterwards.
    std::expected<void, WriteError> finish();

  private:
    PcapngWriter() = default;
    std::expected<void, WriteError> write_simple(const PacketSpec& packet);
    void begin_block(std::uint32_t type);
    void put(std::uint64_t value, std::size_t bytes);
    void put_padded(wire::Bytes bytes);
    void put_option(std::uint16_t code, wire::Bytes value);
    void put_end_of_options();
    std::expected<void, WriteError> end_block();

    std::string path_;
    std::string temporary_; // empty: written in place
    int file_ = -1;
    std::uint32_t interfaces_ = 0;
    std::uint32_t first_snap_length_ = 0;
    std::vector<std::byte> buffer_;
    std::size_t block_ = 0; // where the block under way begins in the buffer
};

} // namespace veriroce::capture
