// The memory of one region: page aligned, with a guard page before it and one after it that are
// never registered. A change there was written by a device that must not write there.
//
//   | guard page | length bytes | rest of the page | guard page |
//
// The rest of the last page is part of the guard, so that a write one byte too long is detected.
#pragma once

#include <cstdint>
#include <expected>
#include <optional>

#include "conformance/dut/contract.hpp"
#include "dissector/wire/bytes.hpp"

namespace veriroce::dut {

class RegionMemory {
  public:
    static constexpr std::size_t page_bytes = 4096;
    static constexpr std::size_t guard_pages = 2;

    // Zeroed memory; nothing if the system has no memory left. With `length` 0 there are only
    // guards.
    static std::optional<RegionMemory> allocate(std::uint64_t length);
    // The same for a device that writes through this object alone: small memory that the thread
    // gave back is taken again, as a new one costs system calls and page faults.
    static std::optional<RegionMemory> allocate_again(std::uint64_t length);
    RegionMemory(RegionMemory&& other) noexcept;
    RegionMemory& operator=(RegionMemory&& other) noexcept;
    RegionMemory(const RegionMemory&) = delete;
    RegionMemory& operator=(const RegionMemory&) = delete;
    ~RegionMemory();

    // What a region of `length` bytes takes from the system: whole pages, and the guards.
    static constexpr std::uint64_t footprint(std::uint64_t length) {
        const std::uint64_t pages = length / page_bytes + (length % page_bytes != 0 ? 1 : 0);
        return (pages + guard_pages) * page_bytes;
    }
    // The largest region whose footprint is at most `bytes`.
    static constexpr std::uint64_t largest_within(std::uint64_t bytes) {
        const std::uint64_t pages = bytes / page_bytes;
        return pages < guard_pages ? 0 : (pages - guard_pages) * page_bytes;
    }

    // The address of the first byte that the request asks for, if it asks for one: 0 with
    // ZERO_BASED, or its iova. -32602 for both at once, and for an iova that is no multiple of a
    // page.
    static std::expected<std::optional<std::uint64_t>, Failure>
    wanted_address(const MrRegister& request);

    [[nodiscard]] wire::MutableBytes bytes() const { return all_.subspan(page_bytes, length_); }
    [[nodiscard]] bool guards_intact() const;

    // The four methods of the contract on the bytes of a region; -32602 for a range beyond it.
    [[nodiscard]] std::expected<MrData, Failure> read(const MrRead& request) const;
    [[nodiscard]] std::expected<Done, Failure> write(const MrWrite& request) const;
    [[nodiscard]] std::expected<Done, Failure> fill(const MrFill& request) const;
    [[nodiscard]] std::expected<MrDigested, Failure> digest(const MrDigest& request) const;

  private:
    RegionMemory(wire::MutableBytes all, std::size_t length) : all_(all), length_(length) {}

    [[nodiscard]] std::expected<wire::MutableBytes, Failure> range(std::uint64_t offset,
                                                                   std::uint64_t length) const;
    [[nodiscard]] wire::MutableBytes guard_before() const { return all_.first(page_bytes); }
    [[nodiscard]] wire::MutableBytes guard_after() const {
        return all_.subspan(page_bytes + length_);
    }

    wire::MutableBytes all_;
    std::size_t length_ = 0;
    bool again_ = false; // is given back to the thread
};

} // namespace veriroce::dut
