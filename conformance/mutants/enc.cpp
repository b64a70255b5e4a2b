// Defects in how frames are taken apart.
#include "conformance/mutants/groups.hpp"
#include "conformance/mutants/packets.hpp"

namespace veriroce::mutants {

namespace {

// ENC-07. What stands behind the right ICRC is zeros or rubbish, which is never the packet's ICRC.
class IcrcAtTheEnd final : public engine::SurfaceFilter {
  public:
    std::optional<engine::OwnedDatagram> admit(wire::Bytes bytes, wire::Instant /*now*/) override {
        const auto frame = wire::decode_frame(bytes);
        padded_ = frame && frame->layers.at(wire::Layer::Icrc) + wire::kIcrcBytes < bytes.size();
        return std::nullopt;
    }
    void inbound(engine::OwnedDatagram datagram, wire::Instant /*now*/,
                 std::vector<engine::OwnedDatagram>& in,
                 std::vector<engine::OwnedDatagram>& /*answers*/) override {
        if (!padded_) in.push_back(std::move(datagram));
    }

  private:
    bool padded_ = false; // the frame that was looked at last
};

constexpr std::array mutants{
    Mutant{.name = "icrc_at_the_end_of_the_frame",
           .rule = "ENC-07",
           .passive = false,
           .description = "The last four bytes of the frame are taken for the ICRC: a short packet "
                          "that Ethernet padded is dropped.",
           .make_filter = make<IcrcAtTheEnd>},
};

} // namespace

std::span<const Mutant> enc() {
    return mutants;
}

} // namespace veriroce::mutants
