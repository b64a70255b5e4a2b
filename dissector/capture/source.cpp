#include "dissector/capture/source.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "dissector/capture/decompressor.hpp"
#include "dissector/capture/page_prefetcher.hpp"

namespace veriroce::capture {
namespace {

constexpr std::size_t kReadBytes = std::size_t{256} * 1024;
constexpr int kWaitMilliseconds = 200;
constexpr std::size_t kShownBytes = std::size_t{4} * 1024 * 1024; // of a map at a time

ReadError system_error(ReadErrorKind kind, int number, std::uint64_t offset = 0) {
    return {.kind = kind, .system = number, .offset = offset};
}

// A regular file that is still at its beginning can be mapped; its size.
std::optional<std::size_t> mappable_bytes(int file) {
    struct stat status{};
    if (::fstat(file, &status) != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
    if (::lseek(file, 0, SEEK_CUR) != 0) return std::nullopt;
    return static_cast<std::size_t>(status.st_size);
}

} // namespace

std::expected<Source, ReadError> Source::open(const std::string& path,
                                              const std::atomic<bool>* stop) {
    // O_NONBLOCK: a named pipe is waited for in wait(), which a signal can end, not here.
    const int file =
        path == "-" ? ::dup(STDIN_FILENO) : ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file < 0) return std::unexpected(system_error(ReadErrorKind::Open, errno));
    Source source;
    source.stop_ = stop;
    const std::optional<std::size_t> bytes = mappable_bytes(file);
    if (!bytes) {
        source.file_ = file;
        source.growing_ = true;
        return source;
    }
    if (*bytes > 0) {
        void* memory = ::mmap(nullptr, *bytes, PROT_READ, MAP_PRIVATE, file, 0);
        if (memory == MAP_FAILED) { // some file systems cannot map: read instead
            source.file_ = file;
            source.growing_ = true;
            return source;
        }
        ::madvise(memory, *bytes, MADV_SEQUENTIAL);
        source.map_ = {static_cast<const std::byte*>(memory), *bytes};
        source.pages_ = PagePrefetcher::of(source.map_);
        source.growing_ = true;
    }
    ::close(file);
    return source;
}

Source Source::over(wire::Bytes memory) {
    Source source;
    source.window_ = memory;
    return source;
}

Source Source::decompressed(Source source) {
    const std::optional<Compression> compression = compression_of(source.ahead(4));
    if (!compression) return source;
    Source result;
    result.decompressor_ = std::make_unique<Decompressor>(std::move(source), *compression);
    result.growing_ = true;
    return result;
}

Source::Source() = default;

Source::Source(Source&& other) noexcept
    : window_(std::exchange(other.window_, {})), position_(std::exchange(other.position_, 0)),
      before_window_(other.before_window_), map_(std::exchange(other.map_, {})),
      pages_(std::move(other.pages_)), buffer_(std::move(other.buffer_)),
      file_(std::exchange(other.file_, -1)), decompressor_(std::move(other.decompressor_)),
      stop_(other.stop_), growing_(std::exchange(other.growing_, false)), error_(other.error_) {}

Source& Source::operator=(Source&& other) noexcept {
    if (this == &other) return *this;
    release();
    window_ = std::exchange(other.window_, {});
    position_ = std::exchange(other.position_, 0);
    before_window_ = other.before_window_;
    map_ = std::exchange(other.map_, {});
    pages_ = std::move(other.pages_);
    buffer_ = std::move(other.buffer_);
    file_ = std::exchange(other.file_, -1);
    decompressor_ = std::move(other.decompressor_);
    stop_ = other.stop_;
    growing_ = std::exchange(other.growing_, false);
    error_ = other.error_;
    return *this;
}

Source::~Source() {
    release();
}

std::optional<double> Source::part_done() const {
    if (decompressor_) return decompressor_->part_done();
    const std::size_t all = map_.empty() ? window_.size() : map_.size();
    if (file_ >= 0 || all == 0) return std::nullopt;
    return static_cast<double>(position_) / static_cast<double>(all);
}

void Source::release() {
    pages_.reset();
    // munmap's parameter lacks const.
    if (!map_.empty()) ::munmap(const_cast<std::byte*>(map_.data()), map_.size());
    if (file_ >= 0) ::close(file_);
    map_ = {};
    file_ = -1;
}

// For a large map, a piece at a time. The beginning of the window does not move.
void Source::show_more(std::size_t count) {
    if (pages_) pages_->reached(position_);
    const std::size_t more = pages_ ? std::max(count, kShownBytes) : map_.size();
    window_ = map_.first(std::min(map_.size() - position_, more) + position_);
    growing_ = window_.size() < map_.size();
}

// Moves unread bytes to the front of the buffer and reads until `count` bytes are available.
void Source::refill(std::size_t count) {
    if (!map_.empty()) return show_more(count);
    const std::size_t left = window_.size() - position_;
    before_window_ += position_;
    if (left > 0 && position_ > 0) std::memmove(buffer_.data(), &buffer_[position_], left);
    position_ = 0;
    if (buffer_.size() < std::max(count, kReadBytes)) buffer_.resize(std::max(count, kReadBytes));
    std::size_t filled = left;
    while (filled < count && growing_) {
        const std::size_t got = read_some(std::span(buffer_).subspan(filled));
        if (got == 0) growing_ = false;
        filled += got;
    }
    if (error_ && !decompressor_) error_->offset = before_window_ + filled;
    window_ = wire::Bytes(buffer_).first(filled);
}

// Returns at least 1, or 0 at the end or on an error (see error_).
std::size_t Source::read_some(std::span<std::byte> out) {
    if (decompressor_) {
        const std::size_t got = decompressor_->decompress(out);
        if (got == 0) error_ = decompressor_->error();
        return got;
    }
    while (wait()) {
        const ::ssize_t got = ::read(file_, out.data(), out.size());
        if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
        if (got < 0) error_ = system_error(ReadErrorKind::Read, errno);
        return got > 0 ? static_cast<std::size_t>(got) : 0;
    }
    return 0;
}

// Until there is something to read, or the pipe's writer is gone. False if `stop_` was set. A
// signal just before poll() does not interrupt it, hence the limit.
bool Source::wait() const {
    ::pollfd input{.fd = file_, .events = POLLIN, .revents = 0};
    while (stop_ == nullptr || !stop_->load(std::memory_order_relaxed)) {
        if (::poll(&input, 1, kWaitMilliseconds) > 0) return true;
    }
    return false;
}

} // namespace veriroce::capture
