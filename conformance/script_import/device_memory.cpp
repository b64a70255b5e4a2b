#include "conformance/script_import/device_memory.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace veriroce::script_import {
namespace {

using wire::Operation;

bool remote_access(const Step& step) {
    return step.fate == Fate::Refused && step.answer.nak_code() == wire::NakCode::RemoteAccess;
}

// What is accessed: that is also accesses that are refused, but for those whose memory is the
// reason. They need memory of any kind beside them.
std::vector<Access> accesses_of(const Exchange& exchange) {
    std::vector<Access> accesses;
    for (std::size_t i = 0; i < exchange.steps.size(); ++i) {
        const Step& step = exchange.steps[i];
        const Event& event = exchange.event(i);
        if (step.fate == Fate::Answer || event.damaged || !event.asks()) continue;
        auto access = access_of(event);
        if (!access || !unspeakable(event).empty()) continue;
        if (remote_access(step)) access->bytes = 0;
        accesses.push_back(*access);
    }
    return accesses;
}

} // namespace

DeviceMemory::DeviceMemory(const Exchange& exchange, Draft& draft)
    : exchange_(exchange), draft_(draft), regions_(accesses_of(exchange)) {}

void DeviceMemory::make() {
    for (const Region& region : regions_.all()) {
        draft_.line(fmt::format("dut mr {} len={}KiB access={} fill={}", region.name,
                                region.bytes >> 10, region.rights(),
                                region.atomic ? "zero" : "offsets"));
        if (region.written) tester_memory_[&region] = draft_.room();
    }
    if (regions_.any_atomic()) draft_.need("atomics");
    make_windows();
}

// KEY-11: every SEND with Invalidate has a window of its own to end, for a key can be ended once.
void DeviceMemory::make_windows() {
    for (std::size_t i = 0; i < exchange_.steps.size() && windows_.size() < kMostWindows; ++i) {
        const Event& event = exchange_.event(i);
        const bool asks = exchange_.steps[i].fate != Fate::Answer && event.asks();
        if (!asks || event.damaged || !event.info().invalidates()) continue;
        windows_.try_emplace(exchange_.steps[i].psn, windows_.size() + 1);
    }
    if (windows_.empty()) return;
    draft_.need("mw");
    draft_.comment("the capture does not show what SEND with Invalidate invalidates; here each "
                   "gets a memory window");
    draft_.line("dut mr v len=4KiB access=mw_bind,remote_write");
    for (std::size_t number = 1; number <= windows_.size(); ++number) {
        draft_.line(fmt::format("dut mw w{} on=v type=2", number));
        draft_.line(fmt::format("dut post BIND_MW id={0} mw=w{0}", number));
    }
    draft_.line("dut done send " + ids(1, windows_.size()));
}

std::string DeviceMemory::window_of(std::int64_t psn) const {
    const auto window = windows_.find(psn);
    return window == windows_.end() ? "" : fmt::format(" ikey=w{}", window->second);
}

std::optional<Place> DeviceMemory::place_of(const Event& event) const {
    const auto access = access_of(event);
    if (!access) return std::nullopt;
    return regions_.place(access->address, access->bytes);
}

std::string DeviceMemory::source_of(std::int64_t psn, std::uint32_t bytes) {
    const auto from = write_at(psn);
    if (!from) return {};
    draft_.fill(tester_memory_.at(from->region),
                fmt::format("tester mr {} len={}KiB fill=offsets", from->region->tester_name(),
                            from->region->bytes >> 10));
    return fmt::format(" data={}[{} +{}]", from->region->tester_name(), from->offset, bytes);
}

std::optional<std::uint64_t> DeviceMemory::original(std::int64_t psn) const {
    const auto value = originals_.find(psn);
    if (value == originals_.end()) return std::nullopt;
    return value->second;
}

std::optional<Place> DeviceMemory::write_at(std::int64_t psn) const {
    auto message = writes_.upper_bound(psn);
    if (message == writes_.begin()) return std::nullopt;
    --message;
    const auto index = static_cast<std::uint64_t>(psn - message->first);
    if (index >= message->second.packets) return std::nullopt;
    const Place& from = message->second.place;
    return Place{from.region, from.offset + index * wire::bytes_of(exchange_.mtu)};
}

bool DeviceMemory::take(std::int64_t psn, const Event& event) {
    const wire::OpcodeInfo& info = event.info();
    if (info.headers.has(wire::Header::AtomicEth)) {
        exchange_value(psn, event);
        return true;
    }
    if (info.operation == Operation::AtomicWrite) {
        const Place place = *place_of(event);
        atomic_written_[{place.region, place.offset}].push_back({event.payload, psn});
        return true;
    }
    if (info.operation != Operation::RdmaWrite) return false;
    if (info.starts_message()) {
        writes_[psn] = {*place_of(event),
                        wire::packets_of(event.packet.reth.dma_length, exchange_.mtu)};
    }
    if (event.payload_bytes == 0) return true;
    if (const auto at = write_at(psn)) written_.push_back({*at, event.payload_bytes, psn});
    return true;
}

// ATM-01: what stood there before; regions with atomics begin as zeros.
void DeviceMemory::exchange_value(std::int64_t psn, const Event& event) {
    const Place place = *place_of(event);
    if (place.region->written || place.region->atomic_written) return;
    std::uint64_t& value = values_[{place.region, place.offset}];
    originals_[psn] = value;
    const wire::AtomicEth& atomic = event.packet.atomic;
    if (event.info().operation == Operation::FetchAdd) {
        value += atomic.swap_or_add;
    } else if (value == atomic.compare) {
        value = atomic.swap_or_add;
    }
}

// Where nothing else writes, the last that is covered stands there.
void DeviceMemory::expect_atomic_writes(const Region& region, std::int64_t covered) {
    if (region.written || region.atomic) return;
    for (const auto& [place, writes] : atomic_written_) {
        if (place.first != &region || writes.back().psn > covered) continue;
        draft_.line(fmt::format("expect {}[{} +8] == {}", region.name, place.second,
                                hex(writes.back().bytes)));
    }
}

void DeviceMemory::expect_writes(std::int64_t covered) {
    std::map<const Region*, std::map<std::uint64_t, std::uint64_t>> pieces;
    for (const Written& one : written_) {
        const Region& region = *one.at.region;
        if (one.psn > covered || region.atomic || region.atomic_written) continue;
        auto& end = pieces[one.at.region][one.at.offset];
        end = std::max(end, one.at.offset + one.bytes);
    }
    for (const Region& region : regions_.all()) {
        std::uint64_t begin = 0;
        std::uint64_t end = 0;
        const auto say = [&] {
            if (end <= begin) return;
            draft_.line(fmt::format("expect {0}[{2} +{3}] == {1}[{2} +{3}]", region.name,
                                    region.tester_name(), begin, end - begin));
        };
        for (const auto& [from, to] : pieces[&region]) {
            if (from > end) {
                say();
                begin = from;
                end = to;
            }
            if (end == 0) begin = from;
            end = std::max(end, to);
        }
        say();
        expect_atomic_writes(region, covered);
    }
}

} // namespace veriroce::script_import
