#include "transport/net/line_splitter.hpp"

#include <algorithm>

namespace veriroce::net {

std::optional<std::string> LineSplitter::take() {
    const auto end = line_end();
    if (end == std::string::npos) {
        searched_ = buffer_.size();
        return std::nullopt;
    }
    auto line = buffer_.substr(0, end);
    buffer_.erase(0, end + 1);
    searched_ = 0;
    return line;
}

bool LineSplitter::longer_than(std::size_t limit) const {
    return std::min(line_end(), buffer_.size()) > limit;
}

} // namespace veriroce::net
