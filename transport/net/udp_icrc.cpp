// The ICRC check where the IPv4 identification is not known.
#include "transport/net/udp_link.hpp"

#include <array>
#include <bit>
#include <vector>

#include "dissector/wire/icrc.hpp"

namespace veriroce::net {

namespace {

constexpr std::size_t kIdBits = 16;

// The ICRC that this datagram has with an identification.
std::uint32_t icrc_with(const wire::Envelope& envelope, wire::Bytes transport, std::uint16_t id,
                        std::vector<std::byte>& scratch) {
    scratch.resize(wire::outer_bytes(envelope) + transport.size() + wire::kIcrcBytes);
    const auto size = wire::write_frame({}, envelope, id, transport, {}, scratch);
    return wire::load_icrc(wire::Bytes(scratch).subspan(size - wire::kIcrcBytes, wire::kIcrcBytes));
}

// Which identifications give which differences: vectors over GF(2), each with a leading bit that no
// other has as its own.
class Basis {
  public:
    void add(std::uint32_t image, std::uint16_t id) {
        reduce(image, id);
        if (image != 0) rows_[static_cast<std::size_t>(std::countl_zero(image))] = {image, id};
    }
    // Takes rows away from `image` until none fits; `id` follows.
    void reduce(std::uint32_t& image, std::uint16_t& id) const {
        for (const auto& row : rows_) {
            if (row.image == 0 || std::countl_zero(image) != std::countl_zero(row.image)) continue;
            image ^= row.image;
            id = static_cast<std::uint16_t>(id ^ row.id);
        }
    }

  private:
    struct Row {
        std::uint32_t image = 0;
        std::uint16_t id = 0;
    };
    std::array<Row, 32> rows_{}; // by leading bit, highest first
};

} // namespace

std::optional<std::uint16_t> icrc_matches_some_id(const wire::Envelope& envelope,
                                                  wire::Bytes transport, std::uint32_t icrc) {
    auto untagged = envelope;
    untagged.vlan.reset();
    std::vector<std::byte> scratch;
    const auto with_zero = icrc_with(untagged, transport, 0, scratch);
    if (icrc == with_zero) return 0;
    if (!untagged.destination.v4()) return std::nullopt;
    Basis basis;
    for (std::size_t bit = 0; bit < kIdBits; ++bit) {
        const auto id = static_cast<std::uint16_t>(1U << bit);
        basis.add(icrc_with(untagged, transport, id, scratch) ^ with_zero, id);
    }
    std::uint32_t difference = icrc ^ with_zero;
    std::uint16_t id = 0;
    basis.reduce(difference, id);
    if (difference != 0) return std::nullopt;
    return id;
}

} // namespace veriroce::net
