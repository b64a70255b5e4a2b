#include "transport/engine/datagram_checks.hpp"

#include "transport/engine/grh.hpp"

namespace veriroce::engine::datagram_check {

// STA-01, STA-02, STA-07; a failed send queue hinders no receiving.
bool state(const DatagramView& view) {
    return receives(view.connection.state);
}

bool known_opcode(const DatagramView& view) {
    return view.info.operation == wire::Operation::Send &&
           view.packet.headers.has(wire::Header::Deth);
}

// BTH-12, EXT-05: nothing larger than the port's MTU.
bool shape(const DatagramView& view) {
    return !view.packet.pad_exceeds_body() && view.packet.payload().size() <= view.port_mtu;
}

// EXT-05
bool qkey(const DatagramView& view) {
    return view.packet.deth.qkey == view.connection.qkey;
}

bool receive_ready(const DatagramView& view) {
    return view.receive_ready;
}

// EXT-05: a datagram longer than its buffer is dropped, and the QP stays usable.
bool receive_room(const DatagramView& view) {
    return kGrhBytes + view.packet.payload().size() <= view.receive_bytes;
}

} // namespace veriroce::engine::datagram_check
