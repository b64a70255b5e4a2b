#include "dissector/decode/finding.hpp"

namespace veriroce::decode {
namespace {

using enum FindingKind;
using enum Severity;
using Values = FindingInfo::Values;

constexpr std::array<FindingInfo, kFindingKinds> kFindings{{
    {HeaderTooShort, "BTH-20", Error, "the packet ends inside this header", Values::Decimal},
    {IpVersion, "CA17-27", Error, "the IP version contradicts the EtherType", Values::Decimal},
    {IpHeaderLength, "ENC-08", Error, "the IPv4 header length is too small", Values::Decimal},
    {IpLength, "ENC-08", Error, "the IP length contradicts the frame", Values::Decimal},
    {IbLength, "ENC-08", Error, "the length in LRH or GRH contradicts the frame", Values::Decimal},
    {IpChecksum, "N-03", Warning, "the IPv4 header checksum is wrong", Values::Hex},
    {IpChecksumLeft, "N-03", Note, "the IPv4 header checksum is 0: left to the NIC", Values::None},
    {IpFragment, "ENC-09", Error, "the packet is an IP fragment", Values::None},
    {UdpLength, "ENC-08", Error, "the UDP length contradicts the IP length", Values::Decimal},
    {UdpChecksum, "ENC-06", Note, "the UDP checksum is wrong", Values::Hex},
    {HeaderVersion, "BTH-01", Error, "the transport header version is not 0", Values::Found},
    {ReservedOpcode, "BTH-06", Error, "the opcode is reserved", Values::Found},
    {ReservedQp, "BTH-03", Error, "this service may not address QP 0 or 1", Values::Found},
    {MulticastQp, "BTH-04", Error, "this service may not address the multicast QP", Values::None},
    {PkeyZero, "BTH-07", Error, "the low 15 bits of the P_Key are zero", Values::Found},
    {ReservedBits, "BTH-16", Warning, "reserved bits are not zero", Values::Found},
    {PadExceedsPayload, "BTH-12", Error, "the pad count is larger than the payload", Values::Found},
    {PadInsideMessage, "BTH-10", Error, "a First or Middle packet has a pad", Values::Found},
    {PadContent, "BTH-09", Warning, "pad bytes are not zero", Values::None},
    {LengthNotMultipleOf4, "BTH-09", Error, "payload and pad are not a multiple of 4 bytes",
     Values::Found},
    {UnexpectedPayload, "N-19", Error, "this opcode carries no payload", Values::Found},
    {EmptyFirstOrMiddle, "LEN-01", Error, "a First or Middle packet has no payload", Values::None},
    {EmptyLast, "LEN-02", Error, "a Last packet has no payload", Values::None},
    {DmaLength, "LEN-05", Error, "the DMA length is above 2^31", Values::Found},
    {AtomicAlignment, "ATM-02", Error, "the address of an atomic is not a multiple of 8",
     Values::None},
    {AtomicWriteShape, "EXT-01", Error, "an ATOMIC WRITE is not 8 bytes at a multiple of 8",
     Values::Found},
    {ReservedSyndrome, "REQ-17", Warning, "the AETH syndrome is reserved", Values::Found},
    {CnpShape, "CNP-02", Warning, "a field of the CNP has the wrong value", Values::None},
    {MadLength, "N-30", Error, "a management datagram is not 256 bytes long", Values::Decimal},
    {MadVersion, "N-31", Error, "the MAD base version is not 1", Values::Found},
    {BadIcrc, "CRC-01", Error, "the ICRC is wrong", Values::Hex},
    {NvmeLength, "NVMe-oF", Error, "the message is not as long as an NVMe capsule",
     Values::Decimal},
    {IserLength, "RFC 7145", Error, "the message ends inside its iSER PDU", Values::Decimal},
    {IserOpcode, "RFC 7145", Error, "the iSER opcode is unknown", Values::Found},
    {SmbDirectLength, "MS-SMBD", Error, "the message ends inside its SMB Direct message",
     Values::Decimal},
    {RpcRdmaLength, "RFC 8166", Error, "the message ends inside its RPC-over-RDMA header",
     Values::Decimal},
    {RpcRdmaVersion, "RFC 8166", Error, "the version of RPC-over-RDMA is not 1", Values::Found},
    {RpcRdmaList, "RFC 8166", Error, "a chunk list item is marked with neither 0 nor 1",
     Values::Found},
}};

constexpr bool in_order() {
    for (std::size_t i = 0; i < kFindings.size(); ++i) {
        if (static_cast<std::size_t>(kFindings[i].kind) != i) return false;
    }
    return true;
}
static_assert(in_order());

} // namespace

std::string_view name_of(Severity severity) {
    switch (severity) {
    case Note: return "note";
    case Warning: return "warning";
    case Error: return "error";
    }
    return {};
}

const FindingInfo& finding_info(FindingKind kind) {
    return kFindings[static_cast<std::size_t>(kind)];
}

std::string_view sentence_of(const Finding& finding) {
    if (finding.kind != CnpShape) return finding_info(finding.kind).text;
    switch (static_cast<CnpFault>(finding.found)) {
    case CnpFault::Length: return "a CNP does not have 16 bytes after its BTH";
    case CnpFault::Solicited: return "the solicited event bit of a CNP is set";
    case CnpFault::MigReq: return "the MigReq bit of a CNP is set";
    case CnpFault::Pad: return "the pad count of a CNP is not 0";
    case CnpFault::Fecn: return "FECN of a CNP is set";
    case CnpFault::Becn: return "BECN of a CNP is not set";
    case CnpFault::AckRequest: return "the AckReq bit of a CNP is set";
    case CnpFault::Psn: return "the PSN of a CNP is not 0";
    case CnpFault::Reserved: return "the reserved bytes of a CNP are not zero";
    }
    return finding_info(finding.kind).text;
}

bool Findings::one_is_fault() const {
    for (const Finding& finding : all()) {
        if (finding_info(finding.kind).severity != Note) return true;
    }
    return dropped_ > 0;
}

} // namespace veriroce::decode
