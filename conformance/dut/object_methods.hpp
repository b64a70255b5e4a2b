// The contract's methods on protection domains, completion queues, memory regions, and the groups
// `srq` and `mw`. One struct per method and one per result; fields have the names of the JSON
// fields. See contract.hpp.
//
// Source: conformance/agent/README.md, the contract's reference.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "conformance/dut/identifiers.hpp"
#include "conformance/dut/pattern.hpp"
#include "conformance/dut/qp_methods.hpp"
#include "dissector/wire/types.hpp"
#include "transport/engine/verbs.hpp"

namespace veriroce::dut {

// --- protection domains, completion queues ----------------------------------------------------

struct PdCreated {
    PdHandle pd;
    friend bool operator==(const PdCreated&, const PdCreated&) = default;
};
struct PdCreate {
    static constexpr std::string_view method = "pd_create";
    using Gives = PdCreated;
    friend bool operator==(const PdCreate&, const PdCreate&) = default;
};
struct PdDestroy {
    static constexpr std::string_view method = "pd_destroy";
    using Gives = Done;
    PdHandle pd;
    friend bool operator==(const PdDestroy&, const PdDestroy&) = default;
};

struct CqCreated {
    CqHandle cq;
    std::optional<std::uint32_t> depth; // the real one; a device may round it up
    friend bool operator==(const CqCreated&, const CqCreated&) = default;
};
struct CqCreate {
    static constexpr std::string_view method = "cq_create";
    using Gives = CqCreated;
    std::uint32_t depth = 0;
    friend bool operator==(const CqCreate&, const CqCreate&) = default;
};
struct CqDestroy {
    static constexpr std::string_view method = "cq_destroy";
    using Gives = Done;
    CqHandle cq;
    friend bool operator==(const CqDestroy&, const CqDestroy&) = default;
};

// --- memory regions: page aligned, an unregistered guard page before and after ----------------

struct Fill {
    Pattern pattern = Pattern::Zero;
    std::optional<std::uint64_t> key;
    friend bool operator==(const Fill&, const Fill&) = default;
};

struct MrRegistered {
    MrHandle mr;
    std::uint64_t address = 0;
    wire::Lkey lkey;
    wire::Rkey rkey;
    friend bool operator==(const MrRegistered&, const MrRegistered&) = default;
};
struct MrRegister {
    static constexpr std::string_view method = "mr_register";
    using Gives = MrRegistered;
    PdHandle pd;
    std::uint64_t length = 0;
    engine::Access access;
    std::optional<Fill> fill;
    // The address of the first byte, a multiple of 4096; only for a DUT with the capability `iova`.
    std::optional<std::uint64_t> iova;
    friend bool operator==(const MrRegister&, const MrRegister&) = default;
};

struct MrData {
    std::vector<std::byte> data;
    friend bool operator==(const MrData&, const MrData&) = default;
};
struct MrRead {
    static constexpr std::string_view method = "mr_read";
    using Gives = MrData;
    MrHandle mr;
    std::uint64_t offset = 0;
    std::uint64_t length = 0;
    friend bool operator==(const MrRead&, const MrRead&) = default;
};

struct MrWrite {
    static constexpr std::string_view method = "mr_write";
    using Gives = Done;
    MrHandle mr;
    std::uint64_t offset = 0;
    std::vector<std::byte> data;
    friend bool operator==(const MrWrite&, const MrWrite&) = default;
};

struct MrFill {
    static constexpr std::string_view method = "mr_fill";
    using Gives = Done;
    MrHandle mr;
    std::uint64_t offset = 0;
    std::uint64_t length = 0;
    Pattern pattern = Pattern::Zero;
    std::optional<std::uint64_t> key;
    friend bool operator==(const MrFill&, const MrFill&) = default;
};

struct MrDigested {
    std::uint32_t crc32c = 0;
    bool guards_intact = false; // both guards are unchanged
    // The first byte of a guard that changed: how far it is before the region's first byte, or
    // behind that. An agent need not tell.
    std::optional<std::uint64_t> guard_before;
    std::optional<std::uint64_t> guard_behind;
    friend bool operator==(const MrDigested&, const MrDigested&) = default;
};
struct MrDigest {
    static constexpr std::string_view method = "mr_digest";
    using Gives = MrDigested;
    MrHandle mr;
    std::uint64_t offset = 0;
    std::uint64_t length = 0;
    friend bool operator==(const MrDigest&, const MrDigest&) = default;
};

struct MrDeregister {
    static constexpr std::string_view method = "mr_deregister";
    using Gives = Done;
    MrHandle mr;
    friend bool operator==(const MrDeregister&, const MrDeregister&) = default;
};

// --- capability `srq` -------------------------------------------------------------------------

struct SrqCreated {
    SrqHandle srq;
    friend bool operator==(const SrqCreated&, const SrqCreated&) = default;
};
struct SrqCreate {
    static constexpr std::string_view method = "srq_create";
    using Gives = SrqCreated;
    PdHandle pd;
    std::uint32_t depth = 0;
    std::optional<std::uint32_t> limit;
    friend bool operator==(const SrqCreate&, const SrqCreate&) = default;
};
struct SrqModify {
    static constexpr std::string_view method = "srq_modify";
    using Gives = Done;
    SrqHandle srq;
    std::uint32_t limit = 0;
    friend bool operator==(const SrqModify&, const SrqModify&) = default;
};
struct SrqPost {
    static constexpr std::string_view method = "srq_post";
    using Gives = Posted;
    SrqHandle srq;
    std::vector<ReceiveRequest> requests;
    friend bool operator==(const SrqPost&, const SrqPost&) = default;
};
struct SrqDestroy {
    static constexpr std::string_view method = "srq_destroy";
    using Gives = Done;
    SrqHandle srq;
    friend bool operator==(const SrqDestroy&, const SrqDestroy&) = default;
};

// --- capability `mw` --------------------------------------------------------------------------

struct MwAllocated {
    MwHandle mw;
    wire::Rkey rkey;
    friend bool operator==(const MwAllocated&, const MwAllocated&) = default;
};
struct MwAlloc {
    static constexpr std::string_view method = "mw_alloc";
    using Gives = MwAllocated;
    PdHandle pd;
    std::uint8_t type = 1; // 1 or 2
    friend bool operator==(const MwAlloc&, const MwAlloc&) = default;
};
struct MwBound {
    wire::Rkey rkey;
    friend bool operator==(const MwBound&, const MwBound&) = default;
};
struct MwBind {
    static constexpr std::string_view method = "mw_bind";
    using Gives = MwBound;
    QpHandle qp;
    MwHandle mw;
    MrHandle mr;
    std::uint64_t offset = 0;
    std::uint64_t length = 0;
    engine::Access access;
    std::uint64_t id = 0;
    friend bool operator==(const MwBind&, const MwBind&) = default;
};
struct MwDealloc {
    static constexpr std::string_view method = "mw_dealloc";
    using Gives = Done;
    MwHandle mw;
    friend bool operator==(const MwDealloc&, const MwDealloc&) = default;
};

} // namespace veriroce::dut
