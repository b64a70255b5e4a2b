#include "conformance/script_import/regions.hpp"

#include <algorithm>

namespace veriroce::script_import {
namespace {

constexpr std::uint64_t kPage = 4096;

std::uint64_t end_of(const Access& access) {
    return access.address + std::max<std::uint64_t>(access.bytes, 1);
}

void use(Region& region, const Access& access) {
    const bool read = access.operation == wire::Operation::RdmaReadRequest;
    const bool written = access.operation == wire::Operation::RdmaWrite;
    const bool atomic_written = access.operation == wire::Operation::AtomicWrite;
    const bool flushed = access.operation == wire::Operation::Flush;
    region.read = region.read || read;
    region.written = region.written || written;
    region.atomic_written = region.atomic_written || atomic_written;
    region.flushed = region.flushed || flushed;
    region.atomic = region.atomic || !(read || written || atomic_written || flushed);
}

} // namespace

std::optional<Access> access_of(const Event& event) {
    const wire::HeaderSet headers = event.info().headers;
    if (headers.has(wire::Header::AtomicEth)) {
        return Access{.address = event.packet.atomic.virtual_address,
                      .bytes = 8,
                      .operation = event.info().operation};
    }
    if (!headers.has(wire::Header::Reth)) return std::nullopt;
    return Access{.address = event.packet.reth.virtual_address,
                  .bytes = event.packet.reth.dma_length,
                  .operation = event.info().operation};
}

std::string Region::rights() const {
    std::string text;
    const auto add = [&](bool has, std::string_view right) {
        if (has) text += (text.empty() ? "" : ",") + std::string(right);
    };
    add(written || atomic_written, "remote_write");
    add(read, "remote_read");
    add(atomic, "remote_atomic");
    add(flushed, "flush_global");
    return text;
}

Regions::Regions(std::vector<Access> accesses) {
    std::erase_if(accesses, [](const Access& one) {
        return one.bytes > kLargestRegion || end_of(one) < one.address;
    });
    std::ranges::sort(accesses, {}, &Access::address);
    for (const Access& one : accesses) {
        Region* region = regions_.empty() ? nullptr : &regions_.back();
        const bool near = region != nullptr &&
                          one.address <= region->base + region->bytes + kNearBytes &&
                          end_of(one) - region->base <= kLargestRegion;
        if (!near) {
            if (regions_.size() == kMostRegions) return;
            region = &regions_.emplace_back();
            region->name = static_cast<char>('a' + (regions_.size() - 1));
            region->base = one.address / kPage * kPage;
        }
        region->bytes = std::max(region->bytes, end_of(one) - region->base);
        use(*region, one);
    }
    for (Region& region : regions_)
        region.bytes = (region.bytes + kPage - 1) / kPage * kPage;
}

std::optional<Place> Regions::place(std::uint64_t address, std::uint64_t bytes) const {
    for (const Region& region : regions_) {
        if (address < region.base) continue;
        const std::uint64_t offset = address - region.base;
        if (offset < region.bytes && bytes <= region.bytes - offset) return Place{&region, offset};
    }
    return std::nullopt;
}

bool Regions::any_atomic() const {
    return std::ranges::any_of(regions_, &Region::atomic);
}

} // namespace veriroce::script_import
