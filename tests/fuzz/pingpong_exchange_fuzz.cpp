// The one message of the exchange from a stranger: what is understood survives a journey of its
// own.
#include <algorithm>

#include "tests/fuzz/input.hpp"
#include "transport/pingpong/exchange.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace veriroce;
    pingpong::Introduction::Message message{};
    std::copy_n(data, std::min(size, message.size()), message.begin());
    const auto side = pingpong::Introduction::decode(message);
    if (!side) {
        // Characters of UTF-8 may be shown.
        fuzz::require(std::ranges::all_of(side.error(),
                                          [](unsigned char c) { return c >= ' ' && c != 0x7F; }));
        return 0;
    }
    fuzz::require(pingpong::Introduction::decode(side->encode()) == *side);
    return 0;
}
