// The other end of a line stream: connects to a LineServer, sends lines and waits for lines.
//
// Errors are those of ByteStream.
#pragma once

#include <cstddef>
#include <expected>
#include <string>
#include <string_view>

#include "dissector/wire/instant.hpp"
#include "transport/net/byte_stream.hpp"
#include "transport/net/error.hpp"
#include "transport/net/line_address.hpp"
#include "transport/net/line_cutter.hpp"

namespace veriroce::net {

class LineClient {
  public:
    static std::expected<LineClient, Error> connect(const LineAddress& address,
                                                    wire::Instant deadline,
                                                    std::size_t max_line_bytes = 16U << 20U);

    // `line` without '\n'; it must not contain one.
    std::expected<void, Error> send_line(std::string_view line, wire::Instant deadline);

    // The next line, without '\n'. TimedOut at the deadline, without losing what has arrived; a
    // deadline in the past only looks.
    std::expected<std::string, Error> receive_line(wire::Instant deadline);

    // For poll(): readable when bytes wait in the kernel. Ask has_line() first, because a whole
    // line may already stand in this object.
    [[nodiscard]] int fd() const { return stream_.fd(); }
    [[nodiscard]] bool has_line() const;
    [[nodiscard]] const LineAddress& peer() const { return stream_.peer(); }

  private:
    LineClient(ByteStream stream, std::size_t max_line_bytes)
        : stream_(std::move(stream)), max_line_bytes_(max_line_bytes) {}

    ByteStream stream_;
    std::size_t max_line_bytes_ = 0;
    LineCutter received_;
};

} // namespace veriroce::net
