// Devices that compute with addresses of 32 bits, or look memory up by its address. Only regions at
// addresses that the tester chose show them for certain.
#include <deque>
#include <map>

#include "conformance/mutants/groups.hpp"
#include "conformance/mutants/qp_filter.hpp"

namespace veriroce::mutants::of_addresses {
namespace {

using engine::RequestCheck;
using engine::RequestVerdict;
using engine::RequestView;

constexpr std::uint64_t kBorder = std::uint64_t{1} << 32;

std::uint64_t border_in(const engine::RegisteredRegion& region) {
    return (region.address / kBorder + 1) * kBorder;
}

// What the host registered, by key; the engine's L_Keys and R_Keys are the same numbers.
template <typename Memory>
class KnowsRegions : public QpFilter<Memory> {
  public:
    void region_registered(const engine::RegisteredRegion& region) override {
        regions_.insert_or_assign(region.rkey.value, region);
    }
    void region_deregistered(engine::MrId mr) override {
        std::erase_if(regions_, [&](const auto& one) { return one.second.mr == mr; });
    }

  protected:
    [[nodiscard]] const engine::RegisteredRegion* region(std::uint32_t key) const {
        const auto found = regions_.find(key);
        return found == regions_.end() ? nullptr : &found->second;
    }
    // The newest one that begins where this one does.
    [[nodiscard]] std::uint32_t newest_alike(std::uint32_t key) const {
        const engine::RegisteredRegion* one = region(key);
        if (one == nullptr) return key;
        std::uint32_t newest = key;
        for (const auto& [other_key, other] : regions_) {
            if (other.address == one->address && other.pd == one->pd) newest = other_key;
        }
        return newest;
    }

  private:
    std::map<std::uint32_t, engine::RegisteredRegion> regions_;
};

// --- what arrives

bool is_range(const RequestView& view) {
    return view.target && !view.target->whole && view.target->length > 0;
}

// The end of a region is compared in its lower half.
RequestVerdict end_in_32_bits(const RequestView& view) {
    const RequestVerdict right = engine::request_check::key_range(view);
    if (right != RequestVerdict::Accept || !is_range(view)) return right;
    const engine::Region& region = view.memory.slot(view.target->rkey.value);
    const std::uint64_t end = (region.address + region.bytes.size()) % kBorder;
    const std::uint64_t behind = view.target->address % kBorder + view.target->length;
    return end != 0 && behind > end ? RequestVerdict::NakRemoteAccess : right;
}

// The first address behind a region at the end of all is 0.
RequestVerdict nothing_before_zero(const RequestView& view) {
    const RequestVerdict right = engine::request_check::key_range(view);
    if (right != RequestVerdict::Accept || !is_range(view)) return right;
    const engine::Region& region = view.memory.slot(view.target->rkey.value);
    return region.address + region.bytes.size() == 0 ? RequestVerdict::NakRemoteAccess : right;
}

bool has_target(const wire::Packet& packet) {
    return packet.headers.has(wire::Header::Reth) && packet.reth.dma_length > 0;
}

// What lies in a region that crosses a border is found by the lower half of its address.
class IgnoresUpperHalf final : public KnowsRegions<Nothing> {
  protected:
    void arrives(Qp& /*qp*/, Passage& passage) override {
        if (!has_target(passage.packet)) return;
        wire::Reth& reth = passage.packet.reth;
        const engine::RegisteredRegion* one = region(reth.rkey.value);
        if (one == nullptr) return;
        const std::uint64_t border = border_in(*one);
        if (border >= one->address + one->memory.size()) return;
        for (const std::uint64_t half : {border - kBorder, border}) {
            const std::uint64_t there = half + reth.virtual_address % kBorder;
            if (there >= one->address &&
                there + reth.dma_length <= one->address + one->memory.size())
                reth.virtual_address = there;
        }
    }
};

// The sum of address and length wraps, and is then within the region.
class SumWraps final : public KnowsRegions<Nothing> {
  protected:
    void arrives(Qp& /*qp*/, Passage& passage) override {
        if (!has_target(passage.packet)) return;
        wire::Reth& reth = passage.packet.reth;
        const engine::RegisteredRegion* one = region(reth.rkey.value);
        if (one == nullptr || one->address != 0) return;
        const std::uint64_t end = reth.virtual_address + reth.dma_length;
        if (end < reth.virtual_address && end <= one->memory.size()) reth.virtual_address = 0;
    }
};

// A buffer of translations goes by the address alone: the newest region there is found.
class FindsByAddress final : public KnowsRegions<Nothing> {
  protected:
    void arrives(Qp& /*qp*/, Passage& passage) override {
        if (!has_target(passage.packet)) return;
        wire::Rkey& rkey = passage.packet.reth.rkey;
        rkey.value = newest_alike(rkey.value);
    }
};

// --- what is posted

// The SGEs of a request as the device reads them; the engine keeps them until the next call.
class ReadsSges : public KnowsRegions<Nothing> {
  public:
    void posting_send(wire::Qpn /*qpn*/, engine::SendRequest& request) final {
        if (request.flags.inline_data) return;
        sges_.clear();
        for (const engine::Sge& one : request.sges)
            read(one, sges_);
        request.sges = sges_;
    }

  protected:
    virtual void read(const engine::Sge& sge, std::vector<engine::Sge>& as) const = 0;

  private:
    std::vector<engine::Sge> sges_;
};

class FindsOwnByAddress final : public ReadsSges {
  protected:
    void read(const engine::Sge& sge, std::vector<engine::Sge>& as) const override {
        as.push_back(sge);
        as.back().lkey.value = newest_alike(sge.lkey.value);
    }
};

// What crosses a border is taken from the begin of its region.
class LosesCarryOfOwn final : public ReadsSges {
  protected:
    void read(const engine::Sge& sge, std::vector<engine::Sge>& as) const override {
        as.push_back(sge);
        const engine::RegisteredRegion* one = region(sge.lkey.value);
        if (one == nullptr || sge.address >= border_in(*one)) return;
        if (sge.address + sge.length > border_in(*one)) as.back().address = one->address;
    }
};

struct SentPackets {
    std::optional<wire::Psn> newest;
};

// A packet is sent again from an address that is summed up anew, in 32 bits.
class LosesCarryOfResent final : public KnowsRegions<SentPackets> {
  public:
    void posting_send(wire::Qpn /*qpn*/, engine::SendRequest& request) override {
        for (const engine::Sge& one : request.sges) {
            const engine::RegisteredRegion* known = region(one.lkey.value);
            if (known == nullptr || one.address >= border_in(*known)) continue;
            crosses_ = crosses_ || one.address + one.length > border_in(*known);
        }
    }

  protected:
    void leaves(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        if (!packet.info().request() || packet.body.empty()) return;
        auto& newest = qp.memory.newest;
        const bool again = newest && wire::distance(*newest, packet.bth.psn) <= 0;
        if (!again) newest = packet.bth.psn;
        if (!again || !crosses_) return;
        bytes_.assign(packet.body.size(), std::byte{});
        packet.body = bytes_;
    }

  private:
    bool crosses_ = false; // some request that was posted
    std::vector<std::byte> bytes_;
};

constexpr std::array kMutants{
    Mutant{.name = "region_end_compared_in_32_bits",
           .rule = "N-37",
           .description = "Requests before a 4 GiB border in a region that crosses it are refused: "
                          "the region's end is compared in its lower half.",
           .cases = "key/across-a-border",
           .checks = engine::kStandardChecks.with(RequestCheck::KeyRange, end_in_32_bits)},
    Mutant{.name = "region_up_to_the_top_refused",
           .rule = "N-37",
           .description = "Every request to a region that ends with the last address is refused.",
           .cases = "key/region-at-the-top",
           .checks = engine::kStandardChecks.with(RequestCheck::KeyRange, nothing_before_zero)},
    Mutant{.name = "upper_half_of_an_address_ignored",
           .rule = "KEY-05",
           .description = "In a region that crosses a 4 GiB border an address counts by its lower "
                          "half.",
           .cases = "key/beside-a-border",
           .make_filter = make<IgnoresUpperHalf>},
    Mutant{.name = "wrapping_range_accepted_at_zero",
           .rule = "KEY-05",
           .description =
               "A range that begins before address 0 and ends in a region at 0 is taken.",
           .cases = "key/region-at-zero",
           .make_filter = make<SumWraps>},
    Mutant{.name = "regions_found_by_address",
           .rule = "N-37",
           .description = "Of several regions at one address requests find the newest.",
           .cases = "key/regions-at-one-address",
           .make_filter = make<FindsByAddress>},
    Mutant{.name = "own_regions_found_by_address",
           .rule = "LEN-10",
           .description = "Of several regions at one address the device's own requests take the "
                          "newest.",
           .cases = "req/posts-at-one-address",
           .make_filter = make<FindsOwnByAddress>},
    Mutant{.name = "own_memory_without_carry",
           .rule = "LEN-10",
           .description = "A request across a 4 GiB border takes its bytes from the begin of the "
                          "region.",
           .cases = "req/across-a-border",
           .make_filter = make<LosesCarryOfOwn>},
    Mutant{.name = "resent_memory_without_carry",
           .rule = "REQ-31",
           .description = "Packets of a request across a 4 GiB border are sent again with zeros.",
           .cases = "req/resent-across-a-border",
           .make_filter = make<LosesCarryOfResent>},
};

} // namespace
} // namespace veriroce::mutants::of_addresses

namespace veriroce::mutants {

std::span<const Mutant> addresses() {
    return of_addresses::kMutants;
}

} // namespace veriroce::mutants
