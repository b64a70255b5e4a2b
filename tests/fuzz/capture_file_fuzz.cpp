// Any bytes are a file, packed or plain: read to the end or to an error, and every span given must
// be readable.
#include "dissector/capture/reader.hpp"

using namespace veriroce;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto bytes = std::as_bytes(std::span(data, size));
    auto reader = capture::Reader::over(bytes);
    if (!reader) return capture::text_of(reader.error(), "f").empty() ? 1 : 0;
    capture::Record record;
    std::size_t total = 0;
    for (;;) {
        const auto more = reader->next(record);
        if (!more || !*more) break;
        for (const std::byte byte : record.bytes)
            total += std::to_integer<std::size_t>(byte);
        for (const auto comment : capture::comments_of(record))
            total += comment.size();
        total += static_cast<std::size_t>(capture::direction_of(record));
        assert(record.interface < reader->interfaces().size());
    }
    return total == static_cast<std::size_t>(-1) ? 1 : 0;
}
