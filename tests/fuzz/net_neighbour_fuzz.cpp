// Whatever arrives may be taken for ARP or neighbour discovery: no bytes may hurt, and what is read
// as a question has an answer that reads as one.
#include "transport/net/neighbour_packets.hpp"

using namespace veriroce;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto message = net::parse_neighbour(std::as_bytes(std::span(data, size)));
    if (!message || message->kind != net::NeighbourMessage::Kind::Request) return 0;
    const auto ours = *wire::MacAddress::parse("52:54:00:77:00:01");
    const auto answer = net::parse_neighbour(net::neighbour_answer(*message, ours));
    assert(answer && answer->kind == net::NeighbourMessage::Kind::Answer);
    assert(answer->target == message->target && answer->target_mac == ours);
    return 0;
}
