// An owned file descriptor, waiting for several descriptors, and texts of errno values.
#pragma once

#include <expected>
#include <initializer_list>
#include <span>
#include <string>
#include <utility>

#include "dissector/wire/instant.hpp"
#include "transport/net/error.hpp"

namespace veriroce::net {

class Descriptor {
  public:
    Descriptor() = default;
    explicit Descriptor(int fd) : fd_(fd) {}
    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;
    Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
    Descriptor& operator=(Descriptor&& other) noexcept {
        std::swap(fd_, other.fd_);
        return *this;
    }
    ~Descriptor();

    [[nodiscard]] int fd() const { return fd_; }
    [[nodiscard]] bool valid() const { return fd_ >= 0; }
    int release() { return std::exchange(fd_, -1); }

  private:
    int fd_ = -1;
};

// The system's text for an errno value: "Connection refused".
std::string errno_text(int number);

// An Error of kind System: "WHAT: Connection refused".
Error system_error(std::string what, int number);

enum class Waited : std::uint8_t { Ready, Also, Deadline };

// Waits until `fd` is ready for `events` (POLLIN, POLLOUT), one of `also` is readable, or the
// deadline has passed. `fd` takes precedence; an error on `fd` counts as ready.
Waited wait_for(int fd, short events, wire::Instant deadline, std::span<const int> also = {});

} // namespace veriroce::net
