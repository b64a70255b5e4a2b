// A byte stream in pieces of any size: the lines and what is left over are the stream again.
#include <algorithm>
#include <cstdlib>
#include <string>
#include <string_view>

#include "transport/net/line_splitter.hpp"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
    using namespace veriroce::net;
    if (size == 0) return 0;
    const std::size_t piece = data[0] % 16U + 1U;
    const std::string_view stream(reinterpret_cast<const char*>(data) + 1, size - 1);
    LineSplitter lines;
    std::string again;
    for (std::size_t at = 0; at < stream.size(); at += piece) {
        lines.append(stream.substr(at, piece));
        if (lines.longer_than(64)) return 0; // the server closes the connection
        while (lines.has_line()) {
            const auto line = lines.take();
            if (!line || line->find('\n') != std::string::npos || line->size() > 64) std::abort();
            again += *line + '\n';
            if (lines.longer_than(64)) return 0;
        }
        if (lines.take()) std::abort();
    }
    const auto rest = stream.substr(std::min(again.size(), stream.size()));
    if (again + std::string(rest) != stream) std::abort();
    if (lines.empty() != rest.empty() || rest.find('\n') != std::string_view::npos) std::abort();
    return 0;
}
