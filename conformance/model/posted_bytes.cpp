#include "conformance/model/posted_bytes.hpp"

#include <algorithm>
#include <cstring>

#include "conformance/dut/pattern.hpp"

namespace veriroce::model {
namespace {

template <typename Result>
const Result* result_of(const Call& call) {
    if (!call.answer || !*call.answer) return nullptr;
    return std::get_if<Result>(&**call.answer);
}

bool writes_locally(wire::WrOpcode opcode) {
    switch (opcode) {
    case wire::WrOpcode::RdmaRead:
    case wire::WrOpcode::AtomicCmpAndSwp:
    case wire::WrOpcode::AtomicFetchAndAdd: return true;
    case wire::WrOpcode::Send:
    case wire::WrOpcode::SendWithImm:
    case wire::WrOpcode::SendWithInv:
    case wire::WrOpcode::RdmaWrite:
    case wire::WrOpcode::RdmaWriteWithImm:
    case wire::WrOpcode::LocalInv:
    case wire::WrOpcode::BindMw:
    case wire::WrOpcode::Flush:
    case wire::WrOpcode::AtomicWrite: return false;
    }
    return false;
}

} // namespace

void PostedBytes::take(const Call& call) {
    if (call.answer && !*call.answer && !call.answer->error().posted) return; // refused
    if (const auto* make = std::get_if<dut::MrRegister>(&call.request)) {
        const auto* made = result_of<dut::MrRegistered>(call);
        if (made == nullptr) return;
        Region region{.length = make->length, .rkey = made->rkey};
        region.known = make->fill && make->length <= kMostBytes;
        if (region.known) {
            region.versions.emplace_back(make->length);
            dut::write_pattern(region.versions.back(), make->fill->pattern, 0,
                               make->fill->key.value_or(0));
        }
        regions_[made->mr] = std::move(region);
    } else if (const auto* write = std::get_if<dut::MrWrite>(&call.request)) {
        change(write->mr, write->offset, write->data);
    } else if (const auto* fill = std::get_if<dut::MrFill>(&call.request)) {
        std::vector<std::byte> bytes(fill->length);
        dut::write_pattern(bytes, fill->pattern, fill->offset, fill->key.value_or(0));
        change(fill->mr, fill->offset, bytes);
    } else if (const auto* send = std::get_if<dut::PostSend>(&call.request)) {
        for (const dut::SendRequest& request : send->requests) {
            if (writes_locally(request.opcode)) lose(request.sge);
            if (request.bind && request.rkey) windows_[*request.rkey] = request.bind->mr;
        }
    } else if (const auto* receive = std::get_if<dut::PostRecv>(&call.request)) {
        for (const dut::ReceiveRequest& request : receive->requests)
            lose(request.sge);
    } else if (const auto* shared = std::get_if<dut::SrqPost>(&call.request)) {
        for (const dut::ReceiveRequest& request : shared->requests)
            lose(request.sge);
    } else if (const auto* bind = std::get_if<dut::MwBind>(&call.request)) {
        if (const auto* bound = result_of<dut::MwBound>(call)) windows_[bound->rkey] = bind->mr;
    }
}

void PostedBytes::take(const Packet& packet) {
    if (packet.from != Side::Tester || !packet.packet) return;
    const wire::Packet& sent = *packet.packet;
    if (sent.headers.has(wire::Header::Reth) &&
        sent.info().operation != wire::Operation::RdmaReadRequest) {
        lose(sent.reth.rkey);
    }
    if (sent.headers.has(wire::Header::AtomicEth)) lose(sent.atomic.rkey);
}

void PostedBytes::change(dut::MrHandle mr, std::uint64_t offset, wire::Bytes bytes) {
    const auto found = regions_.find(mr);
    if (found == regions_.end()) return;
    Region& region = found->second;
    const bool whole = offset == 0 && bytes.size() == region.length && region.length <= kMostBytes;
    if (!region.known && !region.lost && whole) { // the first content that is said
        region.known = true;
        region.versions.assign(1, std::vector<std::byte>(bytes.begin(), bytes.end()));
        return;
    }
    if (!region.known) return;
    const bool inside = offset <= region.length && bytes.size() <= region.length - offset;
    if (!inside || region.versions.size() >= kMostVersions) {
        region.lose();
        return;
    }
    region.versions.push_back(region.versions.back());
    std::ranges::copy(bytes, region.versions.back().begin() + static_cast<std::ptrdiff_t>(offset));
}

void PostedBytes::lose(const std::vector<dut::Sge>& sge) {
    for (const dut::Sge& one : sge) {
        const auto found = regions_.find(one.mr);
        if (found != regions_.end()) found->second.lose();
    }
}

// A key may be used by more than one region or window in the course of a case.
void PostedBytes::lose(wire::Rkey rkey) {
    const auto window = windows_.find(rkey);
    for (auto& [mr, region] : regions_) {
        if (region.rkey == rkey || (window != windows_.end() && window->second == mr)) {
            region.lose();
        }
    }
}

PostedBytes::Pieces PostedBytes::pieces(const std::vector<dut::Sge>& sge) const {
    Pieces pieces;
    for (const dut::Sge& one : sge) {
        const auto found = regions_.find(one.mr);
        const bool known = found != regions_.end() && found->second.known;
        pieces.push_back({.mr = one.mr,
                          .offset = one.offset,
                          .length = one.length,
                          .known = known,
                          .version = known ? found->second.versions.size() - 1 : 0});
    }
    return pieces;
}

bool PostedBytes::reaches(const std::vector<dut::Sge>& sge) const {
    return std::ranges::all_of(sge, [&](const dut::Sge& one) {
        const auto found = regions_.find(one.mr);
        if (found == regions_.end() || one.lkey) return false;
        const std::uint64_t length = found->second.length;
        return one.offset <= length && one.length <= length - one.offset;
    });
}

// Whether each byte is that of one of the versions.
bool PostedBytes::Region::held(std::uint64_t offset, wire::Bytes bytes, std::size_t from,
                               std::size_t to) const {
    for (std::size_t version = from; version <= to; ++version) { // mostly all of one
        if (std::memcmp(&versions[version][offset], bytes.data(), bytes.size()) == 0) return true;
    }
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        bool fits = false;
        for (std::size_t version = from; version <= to && !fits; ++version)
            fits = versions[version][offset + i] == bytes[i];
        if (!fits) return false;
    }
    return true;
}

bool PostedBytes::permits(const Pieces& pieces, std::uint64_t at, wire::Bytes payload,
                          bool fixed) const {
    for (const Piece& piece : pieces) {
        if (payload.empty()) return true;
        if (at >= piece.length) {
            at -= piece.length;
            continue;
        }
        const auto size =
            static_cast<std::size_t>(std::min<std::uint64_t>(payload.size(), piece.length - at));
        const auto found = regions_.find(piece.mr);
        if (!piece.known || !found->second.known) return true;
        const Region& region = found->second;
        const std::uint64_t first = piece.offset + at;
        if (first + size > region.length) return true; // the device refuses it
        const std::size_t last = fixed ? piece.version : region.versions.size() - 1;
        if (!region.held(first, payload.first(size), piece.version, last)) return false;
        payload = payload.subspan(size);
        at = 0;
    }
    return true;
}

} // namespace veriroce::model
