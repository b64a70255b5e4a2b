#include "dissector/capture/pcapng_writer.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "dissector/capture/pcap_format.hpp"
#include "dissector/capture/pcapng_options.hpp"

namespace veriroce::capture {
namespace {

constexpr std::uint64_t kUnknownLength = ~std::uint64_t{0};
constexpr std::size_t kFlushBytes = std::size_t{256} * 1024;
constexpr std::size_t kMaxOptionBytes = 0xFFFF;

std::unexpected<WriteError> failure(WriteErrorKind kind, int system = 0) {
    return std::unexpected(WriteError{.kind = kind, .system = system});
}

wire::Bytes bytes_of(std::string_view text) {
    return std::as_bytes(std::span(text));
}

std::uint32_t bytes_on_the_wire(const PacketSpec& packet) {
    return packet.original_length != 0 ? packet.original_length
                                       : static_cast<std::uint32_t>(packet.bytes.size());
}

// Whether a rename may replace this name: it does not exist, or it is a regular file.
bool replaceable(const std::string& path) {
    struct stat status{};
    return ::stat(path.c_str(), &status) != 0 || S_ISREG(status.st_mode);
}

// mkstemp creates files that only the owner can read; a capture gets the default permissions.
void give_default_permissions(int file) {
    const ::mode_t mask = ::umask(0);
    ::umask(mask);
    ::fchmod(file, 0666U & ~mask);
}

} // namespace

std::string text_of(const WriteError& error, std::string_view file) {
    const std::string path(file == "-" ? "standard output" : file);
    const std::string system = error.system != 0 ? std::strerror(error.system) : "";
    switch (error.kind) {
    case WriteErrorKind::Create: return path + ": cannot be created: " + system;
    case WriteErrorKind::Write: return path + ": writing failed: " + system;
    case WriteErrorKind::Rename: return path + ": cannot rename the temporary file: " + system;
    case WriteErrorKind::CommentTooLong:
        return path + ": a packet comment is longer than 65535 bytes";
    case WriteErrorKind::PacketTooLong: return path + ": a packet is larger than 16 MiB";
    case WriteErrorKind::UnknownInterface:
        return path + ": a packet names an interface that was not added";
    case WriteErrorKind::NoTime: return path + ": a packet without a time cannot be written here";
    }
    return {};
}

std::expected<PcapngWriter, WriteError>
PcapngWriter::create(const std::string& path, std::string_view application, Appears appears) {
    PcapngWriter writer;
    writer.path_ = path;
    if (path == "-") {
        writer.file_ = ::dup(STDOUT_FILENO);
    } else if (appears == Appears::AtOnce) {
        constexpr ::mode_t kReadWriteForAll = 0666; // but for the umask
        writer.file_ =
            ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, kReadWriteForAll);
    } else if (replaceable(path)) {
        std::string name = path + ".XXXXXX";
        writer.file_ = ::mkostemp(name.data(), O_CLOEXEC);
        if (writer.file_ >= 0) {
            writer.temporary_ = name;
            give_default_permissions(writer.file_);
        }
    } else {
        writer.file_ = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
    }
    if (writer.file_ < 0) return failure(WriteErrorKind::Create, errno);
    writer.begin_block(block_type::kSection);
    writer.put(block_type::kByteOrderMagic, 4);
    writer.put(1, 2); // version 1.0
    writer.put(0, 2);
    writer.put(kUnknownLength, 8);
    writer.put_option(option::kUserApplication, bytes_of(application));
    writer.put_end_of_options();
    if (auto done = writer.end_block(); !done) return std::unexpected(done.error());
    return writer;
}

PcapngWriter::PcapngWriter(PcapngWriter&& other) noexcept
    : path_(std::move(other.path_)), temporary_(std::exchange(other.temporary_, {})),
      file_(std::exchange(other.file_, -1)), interfaces_(other.interfaces_),
      first_snap_length_(other.first_snap_length_), written_(other.written_),
      buffer_(std::move(other.buffer_)), block_(other.block_) {}

PcapngWriter::~PcapngWriter() {
    if (file_ >= 0) ::close(file_);
    if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

std::expected<std::uint32_t, WriteError> PcapngWriter::add_interface(const InterfaceSpec& spec) {
    constexpr std::array kTimeUnit{std::byte{9}};
    begin_block(block_type::kInterface);
    put(spec.link_code, 2);
    put(0, 2);
    put(spec.snap_length, 4);
    if (!spec.name.empty()) put_option(option::kInterfaceName, bytes_of(spec.name));
    if (!spec.description.empty()) {
        put_option(option::kInterfaceDescription, bytes_of(spec.description));
    }
    put_option(option::kInterfaceTimeUnit, kTimeUnit);
    put_end_of_options();
    if (auto done = end_block(); !done) return std::unexpected(done.error());
    if (interfaces_ == 0) first_snap_length_ = spec.snap_length;
    return interfaces_++;
}

std::expected<void, WriteError> PcapngWriter::write(const PacketSpec& packet) {
    if (packet.interface >= interfaces_) return failure(WriteErrorKind::UnknownInterface);
    if (packet.bytes.size() > kMaxPacketBytes) return failure(WriteErrorKind::PacketTooLong);
    for (const std::string& comment : packet.comments) {
        if (comment.size() > kMaxOptionBytes) return failure(WriteErrorKind::CommentTooLong);
    }
    if (!packet.time_ns) {
        return has_simple_shape(packet) ? write_simple(packet) : failure(WriteErrorKind::NoTime);
    }
    const auto time = static_cast<std::uint64_t>(*packet.time_ns);
    begin_block(block_type::kEnhancedPacket);
    put(packet.interface, 4);
    put(time >> 32, 4);
    put(time & 0xFFFFFFFF, 4);
    put(packet.bytes.size(), 4);
    put(bytes_on_the_wire(packet), 4);
    put_padded(packet.bytes);
    const bool directed = packet.direction != Direction::Unknown;
    for (const std::string& comment : packet.comments) {
        put_option(option::kComment, bytes_of(comment));
    }
    if (directed) {
        put(option::kPacketFlags, 2);
        put(4, 2);
        put(packet.direction == Direction::Inbound ? 1 : 2, 4);
    }
    if (directed || !packet.comments.empty()) put_end_of_options();
    return end_block();
}

bool PcapngWriter::has_simple_shape(const PacketSpec& packet) const {
    // The block holds only the length on the wire; the captured length follows from the interface's
    // snap length.
    std::uint32_t captured = bytes_on_the_wire(packet);
    if (first_snap_length_ != 0) captured = std::min(captured, first_snap_length_);
    return packet.interface == 0 && packet.comments.empty() &&
           packet.direction == Direction::Unknown && packet.bytes.size() == captured;
}

std::expected<void, WriteError> PcapngWriter::write_simple(const PacketSpec& packet) {
    begin_block(block_type::kSimplePacket);
    put(bytes_on_the_wire(packet), 4);
    put_padded(packet.bytes);
    return end_block();
}

std::expected<void, WriteError> PcapngWriter::finish() {
    if (auto done = flush(); !done) return done;
    // close() reports delayed write errors, such as a full disk or a lost file server.
    if (::close(std::exchange(file_, -1)) != 0) return failure(WriteErrorKind::Write, errno);
    if (temporary_.empty()) return {};
    if (::rename(temporary_.c_str(), path_.c_str()) != 0) {
        return failure(WriteErrorKind::Rename, errno);
    }
    temporary_.clear();
    return {};
}

void PcapngWriter::begin_block(std::uint32_t type) {
    block_ = buffer_.size();
    put(type, 4);
    put(0, 4); // the length, filled in by end_block
}

// Always little endian, so that the output does not depend on the machine.
void PcapngWriter::put(std::uint64_t value, std::size_t bytes) {
    for (std::size_t i = 0; i < bytes; ++i) {
        buffer_.push_back(static_cast<std::byte>(value >> (8 * i)));
    }
}

void PcapngWriter::put_padded(wire::Bytes bytes) {
    buffer_.insert(buffer_.end(), bytes.begin(), bytes.end());
    buffer_.resize(buffer_.size() + (4 - bytes.size() % 4) % 4);
}

void PcapngWriter::put_option(std::uint16_t code, wire::Bytes value) {
    put(code, 2);
    put(value.size(), 2);
    put_padded(value);
}

void PcapngWriter::put_end_of_options() {
    put(0, 4);
}

std::expected<void, WriteError> PcapngWriter::end_block() {
    const std::size_t length = buffer_.size() - block_ + 4;
    put(length, 4);
    for (std::size_t i = 0; i < 4; ++i) {
        buffer_[block_ + 4 + i] = static_cast<std::byte>(length >> (8 * i));
    }
    if (buffer_.size() < kFlushBytes) return {};
    return flush();
}

std::expected<void, WriteError> PcapngWriter::flush() {
    wire::Bytes rest = buffer_;
    while (!rest.empty()) {
        const ::ssize_t wrote = ::write(file_, rest.data(), rest.size());
        if (wrote < 0 && errno == EINTR) continue;
        if (wrote < 0) return failure(WriteErrorKind::Write, errno);
        written_ += static_cast<std::uint64_t>(wrote);
        rest = rest.subspan(static_cast<std::size_t>(wrote));
    }
    buffer_.clear();
    return {};
}

} // namespace veriroce::capture
