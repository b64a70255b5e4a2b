// Devices that compute with addresses of 32 bits, or look memory up by its address. Only regions at
// addresses that the tester chose show them for certain.
#include <vector>

#include "conformance/mutants/blind.hpp"
#include "conformance/mutants/groups.hpp"

namespace veriroce::mutants::of_addresses {
namespace {

using engine::RequestCheck;
using engine::RequestVerdict;
using engine::RequestView;

constexpr std::uint64_t kBorder = std::uint64_t{1} << 32;

std::uint64_t border_in(const engine::RegisteredRegion& region) {
    return (region.address / kBorder + 1) * kBorder;
}

// Whether the bytes lie on both sides of the first border in their region.
bool crosses(const engine::RegisteredRegion& region, std::uint64_t address, std::uint64_t length) {
    const std::uint64_t border = border_in(region);
    return address < border && address + length > border;
}

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

// The same, and the end of the range is compared with it.
RequestVerdict end_before_zero(const RequestView& view) {
    const RequestVerdict right = nothing_before_zero(view);
    if (!is_range(view)) return right;
    const bool ends_with_all = view.target->address + view.target->length == 0;
    return ends_with_all ? engine::request_check::key_range(view) : right;
}

bool has_target(const wire::Packet& packet) {
    return packet.headers.has(wire::Header::Reth) && packet.reth.dma_length > 0;
}

// What lies in a region that crosses a border is found by the lower half of its address.
class IgnoresUpperHalf final : public DmaFilter<Nothing> {
  protected:
    void arrives(Qp& /*qp*/, Passage& passage) override {
        if (!has_target(passage.packet)) return;
        wire::Reth& reth = passage.packet.reth;
        const auto one = regions().live(reth.rkey);
        if (!one || !crosses(*one, one->address, one->memory.size())) return;
        const std::uint64_t border = border_in(*one);
        for (const std::uint64_t half : {border - kBorder, border}) {
            const std::uint64_t there = half + reth.virtual_address % kBorder;
            if (there >= one->address &&
                there + reth.dma_length <= one->address + one->memory.size())
                reth.virtual_address = there;
        }
    }
};

// The sum of address and length wraps, and is then within the region.
class SumWraps final : public DmaFilter<Nothing> {
  protected:
    void arrives(Qp& /*qp*/, Passage& passage) override {
        if (!has_target(passage.packet)) return;
        wire::Reth& reth = passage.packet.reth;
        const auto one = regions().live(reth.rkey);
        if (!one || one->address != 0) return;
        const std::uint64_t end = reth.virtual_address + reth.dma_length;
        if (end < reth.virtual_address && end <= one->memory.size()) reth.virtual_address = 0;
    }
};

// A buffer of translations goes by the address alone: the newest region there is found.
class FindsByAddress final : public DmaFilter<Nothing> {
  protected:
    void arrives(Qp& /*qp*/, Passage& passage) override {
        if (!has_target(passage.packet)) return;
        wire::Rkey& rkey = passage.packet.reth.rkey;
        rkey = regions().newest_alike(rkey);
    }
};

// --- what is posted

// The SGEs of a request as the device reads them; the engine keeps them until the next call. Its
// L_Keys and R_Keys are the same numbers.
class ReadsSges : public DmaFilter<Nothing> {
  public:
    void posting_send(wire::Qpn /*qpn*/, engine::SendRequest& request) final {
        if (request.flags.inline_data) return;
        sges_.assign(request.sges.begin(), request.sges.end());
        for (engine::Sge& one : sges_)
            read(one);
        request.sges = sges_;
    }

  protected:
    virtual void read(engine::Sge& sge) const = 0;

  private:
    std::vector<engine::Sge> sges_;
};

class FindsOwnByAddress final : public ReadsSges {
  protected:
    void read(engine::Sge& sge) const override {
        sge.lkey.value = regions().newest_alike({sge.lkey.value}).value;
    }
};

// What crosses a border is taken from the first bytes of its region.
class LosesCarryOfOwn final : public ReadsSges {
  protected:
    void read(engine::Sge& sge) const override {
        const auto one = regions().live({sge.lkey.value});
        if (one && crosses(*one, sge.address, sge.length)) sge.address = one->address;
    }
};

// For a resend the device adds up the address a second time, with 32 bits.
class LosesCarryOfResent final : public DmaFilter<NewestPsn> {
  public:
    void posting_send(wire::Qpn /*qpn*/, engine::SendRequest& request) override {
        for (const engine::Sge& one : request.sges) {
            const auto known = regions().live({one.lkey.value});
            crosses_ |= known && crosses(*known, one.address, one.length);
        }
    }

  protected:
    void leaves(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        if (!packet.info().request() || packet.body.empty()) return;
        if (!qp.memory.note(packet.bth.psn) || !crosses_) return;
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
    Mutant{.name = "region_up_to_the_top_refused_but_its_end",
           .rule = "N-37",
           .description = "Of a region that ends with the last address only what ends there, too, "
                          "is inside.",
           .cases = "key/region-at-the-top",
           .checks = engine::kStandardChecks.with(RequestCheck::KeyRange, end_before_zero)},
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
           .description = "A request across a 4 GiB border takes the first bytes of its region.",
           .cases = "req/across-a-border",
           .make_filter = make<LosesCarryOfOwn>},
    Mutant{.name = "resent_memory_without_carry",
           .rule = "REQ-31",
           .description = "Packets of a request across a 4 GiB border are sent again with zeros.",
           .cases = "req/resends-beyond-64k req/resent-across-a-border",
           .make_filter = make<LosesCarryOfResent>},
};

} // namespace
} // namespace veriroce::mutants::of_addresses

namespace veriroce::mutants {

std::span<const Mutant> addresses() {
    return of_addresses::kMutants;
}

} // namespace veriroce::mutants
