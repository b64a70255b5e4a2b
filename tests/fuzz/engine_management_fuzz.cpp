// Any bytes as a management datagram: an answer repeats what it must, and never draws another one.
#include "dissector/wire/management.hpp"
#include "tests/fuzz/input.hpp"
#include "transport/engine/management_host.hpp"

using namespace veriroce;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const wire::Bytes datagram = std::as_bytes(std::span(data, size));
    const auto answer = engine::answer_to(datagram);
    if (!answer) return 0;
    fuzz::require(size == wire::kMadBytes);
    fuzz::require(wire::load_u64(*answer, 8) == wire::load_u64(datagram, 8));
    fuzz::require(!engine::answer_to(*answer)); // no loop of two hosts
    return 0;
}
