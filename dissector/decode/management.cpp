// Management datagrams: the common header, then the message of its class.
//
// Source: IBTA volume 1 chapters 12 (communication management), 13 and 15 (subnet administration),
// annex A11 (RDMA IP CM service), Linux's cma.c; rules N-30, N-31, CM-01..CM-09.
#include <algorithm>

#include "dissector/decode/mad.hpp"
#include "dissector/decode/walker.hpp"
#include "dissector/wire/management.hpp"

namespace veriroce::decode {
namespace {

constexpr std::size_t kSaBytes = 32; // RMPP, SM_Key, offset and component mask
constexpr std::size_t kPathRecordBytes = 64;

constexpr std::size_t kServiceIdAt = 8;                // in both kinds of requests
constexpr std::uint64_t kIpCmService = 0x00'0000'0001; // the upper five bytes of its service ID
// Linux's port space of IPoIB, which only datagrams use: the upper six bytes.
constexpr std::uint64_t kIpoibService = 0x0000'0000'0002;
constexpr std::size_t kIpCmBytes = 36;

// Whether the private data of this message begin with the addresses of the IP CM service. Linux's
// rdma_cm puts the same header into the request of a connection and into that of a datagram QP.
bool has_ip_cm(LayerKind message, wire::Bytes bytes) {
    const bool datagram = message == LayerKind::CmSidrReq;
    if (!datagram && message != LayerKind::CmReq) return false;
    const std::uint64_t service = wire::load_u64(bytes, kServiceIdAt);
    return service >> 24 == kIpCmService || (datagram && service >> 16 == kIpoibService);
}

} // namespace

void Walker::mad() {
    const auto header = take(LayerKind::Mad, kMadHeaderBytes);
    if (header.empty()) return;
    const MadHeader mad = MadHeader::read(header);
    switch (mad.management_class) {
    case wire::kCmClass: return cm(mad.attribute);
    case kSaClass: return sa(mad.attribute);
    default: return rest(LayerKind::MadData);
    }
}

void Walker::cm(std::uint16_t attribute) {
    const CmLayout* layout = cm_layout(attribute);
    if (layout == nullptr) return rest(LayerKind::MadData);
    const auto message = take(layout->layer, layout->bytes);
    if (message.empty()) return;
    if (has_ip_cm(layout->layer, message) && !step(LayerKind::IpCm, kIpCmBytes)) return;
    rest(LayerKind::CmPrivate);
}

void Walker::sa(std::uint16_t attribute) {
    if (!step(LayerKind::Sa, kSaBytes)) return;
    if (attribute == kPathRecordAttribute && !step(LayerKind::PathRecord, kPathRecordBytes)) return;
    rest(LayerKind::MadData);
}

} // namespace veriroce::decode
