// The checks of every packet, before the engine looks at its role. What fails is dropped silently.
#pragma once

#include "transport/engine/check_list.hpp"
#include "transport/engine/view.hpp"

namespace veriroce::engine {

enum class PacketCheck : std::uint8_t {
    TransportVersion,
    Service,
    Pkey,
    SourceAddress,
    DestinationAddress,
    Vlan,
};

namespace packet_check {
bool transport_version(const PacketView& view);
bool service(const PacketView& view);
bool pkey(const PacketView& view);
bool source_address(const PacketView& view);
bool destination_address(const PacketView& view);
bool vlan(const PacketView& view);
} // namespace packet_check

using PacketRow = CheckRow<PacketCheck, bool(const PacketView&)>;

inline constexpr std::array kPacketRows{
    PacketRow{PacketCheck::TransportVersion, "transport-version", "BTH-01",
              packet_check::transport_version},
    PacketRow{PacketCheck::Service, "service", "BTH-05", packet_check::service},
    PacketRow{PacketCheck::Pkey, "pkey", "BTH-07, N-30", packet_check::pkey, CheckGroup::Path},
    PacketRow{PacketCheck::SourceAddress, "source-address", "ENC-14", packet_check::source_address,
              CheckGroup::Path},
    PacketRow{PacketCheck::DestinationAddress, "destination-address", "ENC-13, ENC-14",
              packet_check::destination_address, CheckGroup::Path},
    PacketRow{PacketCheck::Vlan, "vlan", "N-05", packet_check::vlan, CheckGroup::Path},
};
static_assert(in_order(kPacketRows));

constexpr const auto& rows_of(PacketCheck /*list*/) {
    return kPacketRows;
}

} // namespace veriroce::engine
