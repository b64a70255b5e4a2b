// Findings: what is wrong with a packet as it stands, by itself. What takes more than one packet to
// see is the business of flow and judge.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

namespace veriroce::decode {

// Error: a receiver must not take the packet, or a sender must not send it. Warning: a SHOULD, or a
// fault that a capture at the sender's side may show without one. Note: worth knowing.
enum class Severity : std::uint8_t { Note, Warning, Error };
std::string_view name_of(Severity severity); // "note", "warning", "error"

enum class FindingKind : std::uint8_t {
    HeaderTooShort,
    IpVersion,
    IpHeaderLength,
    IpLength,
    IbLength, // of LRH or GRH
    IpChecksum,
    IpChecksumLeft, // it is 0: left to the NIC
    IpFragment,
    UdpLength,
    UdpChecksum,
    HeaderVersion,
    ReservedOpcode,
    ReservedQp,
    MulticastQp,
    PkeyZero,
    ReservedBits,
    PadExceedsPayload,
    PadInsideMessage,
    PadContent,
    LengthNotMultipleOf4,
    UnexpectedPayload,
    EmptyFirstOrMiddle,
    EmptyLast,
    DmaLength,
    AtomicAlignment,
    AtomicWriteShape,
    ReservedSyndrome,
    CnpShape,
    MadLength,
    MadVersion,
    BadIcrc,
    NvmeLength, // from here on: above the transport
    IserLength,
    IserOpcode,
    SmbDirectLength,
    RpcRdmaLength,
    RpcRdmaVersion,
    RpcRdmaList,
};
inline constexpr std::size_t kFindingKinds = 38;

struct FindingInfo {
    FindingKind kind = FindingKind::HeaderTooShort;
    std::string_view rule; // of the catalogue; above the transport the document: "RFC 8166"
    Severity severity = Severity::Error;
    std::string_view text; // a sentence without its full stop
    // Whether `found` and `expected` of such a finding mean something, and how to print them.
    enum class Values : std::uint8_t { None, Found, Decimal, Hex } values = Values::None;
};

const FindingInfo& finding_info(FindingKind kind);

// Which field of a CNP is not as it must be: `found` of a CnpShape.
enum class CnpFault : std::uint8_t {
    Length,
    Solicited,
    MigReq,
    Pad,
    Fecn,
    Becn,
    AckRequest,
    Psn,
    Reserved,
};

struct Finding {
    FindingKind kind = FindingKind::HeaderTooShort;
    std::uint32_t offset = 0; // of the bytes that show it, from the frame's first
    std::uint32_t length = 0;
    std::uint32_t found = 0;
    std::uint32_t expected = 0;
};

// What is wrong, in words: those of its kind, or more exact ones.
std::string_view sentence_of(const Finding& finding);

class Findings {
  public:
    static constexpr std::size_t kCapacity = 16;

    void clear() { size_ = dropped_ = 0; }
    void add(const Finding& finding) {
        if (size_ == kCapacity) {
            ++dropped_;
            return;
        }
        findings_[size_++] = finding;
    }
    [[nodiscard]] std::span<const Finding> all() const { return std::span(findings_).first(size_); }
    [[nodiscard]] bool empty() const { return size_ == 0; }
    // Findings beyond the capacity: counted, not kept.
    [[nodiscard]] std::size_t dropped() const { return dropped_; }
    // Whether one of them is a warning or an error.
    [[nodiscard]] bool any_fault() const { return size_ != 0 && one_is_fault(); }

  private:
    [[nodiscard]] bool one_is_fault() const;

    std::array<Finding, kCapacity> findings_;
    std::size_t size_ = 0;
    std::size_t dropped_ = 0;
};

} // namespace veriroce::decode
