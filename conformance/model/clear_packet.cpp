#include "conformance/model/clear_packet.hpp"

#include <algorithm>

namespace veriroce::model {
namespace {

constexpr std::size_t kShortestFrame = 64; // Ethernet, with its checksum

} // namespace

bool is_clear(const Story& story, const Packet& packet, const Qp& qp) {
    if (!packet.sound() || packet.packet->bth.version != 0) return false;
    const Setting& setting = story.setting;
    const wire::Packet& request = *packet.packet;
    const wire::Envelope envelope = packet.frame.envelope();
    const auto& path = qp.attributes.address_vector;
    const bool mine = packet.frame.ethernet.destination == setting.dut_mac &&
                      packet.frame.ethernet.source == setting.tester_mac &&
                      packet.frame.vlan.has_value() == setting.vlan.has_value() &&
                      (!setting.vlan || packet.frame.vlan->id == setting.vlan->id) &&
                      envelope.destination == setting.dut_address && envelope.hop_limit > 0 &&
                      (qp.type == wire::QpType::Ud || (path && envelope.source == path->address));
    const bool migrates = qp.attributes.alt_address_vector || qp.attributes.path_mig_state;
    // BTH-07
    const std::size_t index = qp.attributes.pkey_index.value_or(0);
    const auto& ports = setting.dut.ports;
    const bool listed = !ports.empty() && index < ports.front().pkeys.size();
    const wire::Pkey pkey = listed ? ports.front().pkeys[index] : wire::kDefaultPkey;
    // ENC-07, ENC-10: options, and bytes after the packet beyond what fills the shortest frame.
    const std::size_t link = packet.frame.vlan ? 18 : 14;
    const std::size_t ip = packet.frame.ipv4   ? packet.frame.ipv4->total_length
                           : packet.frame.ipv6 ? packet.frame.ipv6->payload_length + std::size_t{40}
                                               : 0;
    const bool options = packet.frame.ipv4 && packet.frame.ipv4->header_length != 5;
    const bool trailer = packet.bytes.size() > std::max(link + ip, kShortestFrame);
    const wire::Bytes body = request.body;
    const bool pad_fits = !request.pad_exceeds_body() && body.size() % 4 == 0;
    const bool zero_pad = pad_fits && std::ranges::all_of(body.last(request.bth.pad), [](auto one) {
                              return one == std::byte{0};
                          });
    return mine && !migrates && request.bth.pkey == pkey && !options && !trailer && zero_pad;
}

} // namespace veriroce::model
