// Lines from a stranger: nothing crashes, and what is understood survives a journey of its own.
#include <cstdlib>
#include <string_view>

#include "conformance/dut/codec.hpp"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
    using namespace veriroce::dut;
    const std::string_view line(reinterpret_cast<const char*>(data), size);

    const auto call = decode_request(line);
    if (call.request) {
        const auto again = decode_request(encode_request(*call.id, *call.request));
        if (!again.request || *again.request != *call.request || again.id != call.id) std::abort();
    } else if (call.request.error().message.empty()) {
        std::abort();
    }

    // Every method's result, by the id of the call.
    OpenCalls open;
    for (std::size_t method = 0; method < std::variant_size_v<Request::variant>; ++method) {
        open[CallId{method}] = method;
    }
    const auto reply = decode_answer(line, open);
    if (reply && reply->answer) {
        const auto again = decode_answer(encode_answer(reply->call, reply->answer), open);
        if (!again || again->answer != reply->answer) std::abort();
    }
    return 0;
}
