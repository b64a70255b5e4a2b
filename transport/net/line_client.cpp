#include "transport/net/line_client.hpp"

#include <array>
#include <cassert>

namespace veriroce::net {

std::expected<LineClient, Error> LineClient::connect(const LineAddress& address,
                                                     wire::Instant deadline,
                                                     std::size_t max_line_bytes) {
    auto stream = ByteStream::connect(address, deadline, "the agent");
    if (!stream) return std::unexpected(stream.error());
    return LineClient(std::move(*stream), max_line_bytes);
}

std::expected<void, Error> LineClient::send_line(std::string_view line, wire::Instant deadline) {
    assert(line.find('\n') == std::string_view::npos);
    std::string bytes(line);
    bytes += '\n';
    return stream_.send(bytes, deadline);
}

bool LineClient::has_line() const {
    return received_.has_line();
}

std::expected<std::string, Error> LineClient::receive_line(wire::Instant deadline) {
    std::array<char, 65536> chunk{};
    while (true) {
        if (received_.longer_than(max_line_bytes_)) {
            return std::unexpected(
                Error{ErrorKind::TooLong, peer().text() + " sent a line of more than " +
                                              std::to_string(max_line_bytes_) + " bytes"});
        }
        if (auto line = received_.take()) return std::move(*line);
        auto count = stream_.receive(chunk, deadline);
        if (!count) {
            if (count.error().kind == ErrorKind::Closed && !received_.empty()) {
                count.error().text += " in the middle of a line";
            }
            return std::unexpected(count.error());
        }
        received_.append({chunk.data(), *count});
    }
}

} // namespace veriroce::net
