// The checks of a datagram at its UD QP. What fails is dropped silently.
#pragma once

#include "transport/engine/check_list.hpp"
#include "transport/engine/view.hpp"

namespace veriroce::engine {

enum class DatagramCheck : std::uint8_t {
    State,
    KnownOpcode,
    Shape,
    Qkey,
    ReceiveReady,
    ReceiveRoom,
};

namespace datagram_check {
bool state(const DatagramView& view);
bool known_opcode(const DatagramView& view);
bool shape(const DatagramView& view);
bool qkey(const DatagramView& view);
bool receive_ready(const DatagramView& view);
bool receive_room(const DatagramView& view);
} // namespace datagram_check

using DatagramRow = CheckRow<DatagramCheck, bool(const DatagramView&)>;

inline constexpr std::array kDatagramRows{
    DatagramRow{DatagramCheck::State, "state", "STA-01, STA-02, STA-07", datagram_check::state},
    DatagramRow{DatagramCheck::KnownOpcode, "known-opcode", "BTH-06", datagram_check::known_opcode},
    DatagramRow{DatagramCheck::Shape, "shape", "BTH-12, EXT-05", datagram_check::shape},
    DatagramRow{DatagramCheck::Qkey, "qkey", "EXT-05", datagram_check::qkey},
    DatagramRow{DatagramCheck::ReceiveReady, "receive-ready", "EXT-05",
                datagram_check::receive_ready},
    DatagramRow{DatagramCheck::ReceiveRoom, "receive-room", "EXT-05", datagram_check::receive_room},
};
static_assert(in_order(kDatagramRows));

constexpr const auto& rows_of(DatagramCheck /*list*/) {
    return kDatagramRows;
}

} // namespace veriroce::engine
