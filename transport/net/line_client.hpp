// The client side of a line stream: connects to a LineServer, sends lines and receives lines.
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
#include "transport/net/line_splitter.hpp"

namespace veriroce::net {

class LineClient {
  public:
    static std::expected<LineClient, Error> connect(const LineAddress& address,
                                                    wire::Instant deadline,
                                                    std::size_t max_line_bytes = 16U << 20U);

    // `line` must not contain '\n'; it is added.
    std::expected<void, Error> send_line(std::string_view line, wire::Instant deadline);

    // The next line, without '\n'. TimedOut at the deadline; received bytes are kept. With a
    // deadline in the past it does not wait.
    std::expected<std::string, Error> receive_line(wire::Instant deadline);

    // For poll(): readable when bytes wait in the kernel. Check has_line() first, because a
    // complete line may already have been read.
    [[nodiscard]] int fd() const { return stream_.fd(); }
    [[nodiscard]] bool has_line() const;
    [[nodiscard]] const LineAddress& peer() const { return stream_.peer(); }

  private:
    LineClient(ByteStream stream, std::size_t max_line_bytes)
        : stream_(std::move(stream)), max_line_bytes_(max_line_bytes) {}

    ByteStream stream_;
    std::size_t max_line_bytes_ = 0;
    LineSplitter received_;
};

} // namespace veriroce::net
