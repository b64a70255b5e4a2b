// A packet, as the tracker needs it, on its way from the process that has read it to the process
// that owns its connection: headers, times, and what was computed from its bytes; of the body only
// what the tracker reads, which is a datagram of connection management.
#pragma once

#include "dissector/flow/packet.hpp"
#include "dissector/mpi/world.hpp"

namespace veriroce::mpi {

void put_packet(Letter& letter, const flow::Packet& packet);
// Into a newly constructed packet, whose body points into the letter.
void take_packet(Opened& letter, flow::Packet& fresh);
// Gives the packet that begins there a number.
void set_number(wire::MutableBytes packet, std::uint64_t number);
// Which packets a letter holds: the bytes of each, and its number.
struct NumberedBytes {
    std::uint64_t number = 0;
    wire::Bytes bytes;
};
NumberedBytes take_bytes(Opened& letter);

} // namespace veriroce::mpi
