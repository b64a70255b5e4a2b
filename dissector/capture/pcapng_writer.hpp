// Writes pcapng: one section, interfaces with nanosecond times, enhanced packet blocks with
// comments and a direction. Wireshark shows the comments next to the packets.
//
// The file is written under a temporary name in the same folder and renamed in finish(), so that no
// half-written file appears under its name. Destroying a writer before finish() removes the
// temporary file. A pipe or device (/dev/stdout) is written directly, and so is a file that others
// read while it grows (Appears::AtOnce).
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
    Create, // `system` is errno, as for the next two
    Write,
    Rename,
    CommentTooLong,   // an option holds at most 65,535 bytes
    PacketTooLong,    // more than kMaxPacketBytes
    UnknownInterface, // not a number returned by add_interface
    NoTime,           // and the packet does not fit a simple packet block
};

struct WriteError {
    WriteErrorKind kind = WriteErrorKind::Create;
    int system = 0;
};

// One line for users.
std::string text_of(const WriteError& error, std::string_view path);

struct InterfaceSpec {
    std::uint16_t link_code = 1;   // Ethernet
    std::uint32_t snap_length = 0; // 0: no limit
    std::string_view name;         // empty: not written
    std::string_view description;  // empty: not written
};

struct PacketSpec {
    std::uint32_t interface = 0;
    // Since 1970, not negative. A packet without a time must satisfy has_simple_shape().
    std::optional<std::int64_t> time_ns = 0;
    wire::Bytes bytes;
    std::uint32_t original_length = 0; // 0: the size of `bytes`
    Direction direction = Direction::Unknown;
    std::span<const std::string> comments;
};

class PcapngWriter {
  public:
    enum class Appears : std::uint8_t { WhenFinished, AtOnce };

    // "-" is standard output. `application` names the program in the section header.
    static std::expected<PcapngWriter, WriteError> create(const std::string& path,
                                                          std::string_view application,
                                                          Appears appears = Appears::WhenFinished);

    PcapngWriter(const PcapngWriter&) = delete;
    PcapngWriter& operator=(const PcapngWriter&) = delete;
    PcapngWriter(PcapngWriter&& other) noexcept;
    PcapngWriter& operator=(PcapngWriter&&) = delete;
    ~PcapngWriter();

    // Returns the number to use in PacketSpec::interface.
    std::expected<std::uint32_t, WriteError> add_interface(const InterfaceSpec& spec);
    std::expected<void, WriteError> write(const PacketSpec& packet);
    // Whether the packet fits a simple packet block, the only one without a time: first interface,
    // length as the interface's snap length implies, no comments, no direction.
    [[nodiscard]] bool has_simple_shape(const PacketSpec& packet) const;
    // Bytes of the file so far, the buffered ones included.
    [[nodiscard]] std::uint64_t bytes() const { return written_ + buffer_.size(); }
    // Writes buffered data, for programs that read the output while it grows.
    std::expected<void, WriteError> flush();
    // Writes buffered data and renames the file. Nothing may be written afterwards.
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
    std::uint64_t written_ = 0; // bytes
    std::vector<std::byte> buffer_;
    std::size_t block_ = 0; // where the current block begins in the buffer
};

} // namespace veriroce::capture
