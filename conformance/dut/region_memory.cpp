#include "conformance/dut/region_memory.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <utility>

#include "conformance/dut/executor.hpp"
#include "dissector/wire/crc32c.hpp"

namespace veriroce::dut {

namespace {

// The content of the guards: bytes that no test writes by chance.
constexpr std::uint64_t kBeforeKey = 0xBEF0;
constexpr std::uint64_t kAfterKey = 0xAF7E;
// The answer, in base64, must fit in a line of 16 MiB.
constexpr std::uint64_t kMaxReadBytes = std::uint64_t{8} << 20;

} // namespace

std::optional<RegionMemory> RegionMemory::allocate(std::uint64_t length) {
    const std::size_t total = footprint(length);
    void* memory = mmap(nullptr, total, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return std::nullopt;
    RegionMemory region({static_cast<std::byte*>(memory), total}, length);
    write_pattern(region.guard_before(), Pattern::Random, 0, kBeforeKey);
    write_pattern(region.guard_after(), Pattern::Random, 0, kAfterKey);
    return region;
}

RegionMemory::RegionMemory(RegionMemory&& other) noexcept
    : all_(std::exchange(other.all_, {})), length_(std::exchange(other.length_, 0)) {}

RegionMemory& RegionMemory::operator=(RegionMemory&& other) noexcept {
    std::swap(all_, other.all_);
    std::swap(length_, other.length_);
    return *this;
}

RegionMemory::~RegionMemory() {
    if (!all_.empty()) munmap(all_.data(), all_.size());
}

bool RegionMemory::guards_intact() const {
    return !pattern_mismatch(guard_before(), Pattern::Random, 0, kBeforeKey) &&
           !pattern_mismatch(guard_after(), Pattern::Random, 0, kAfterKey);
}

std::expected<wire::MutableBytes, Failure> RegionMemory::range(std::uint64_t offset,
                                                               std::uint64_t length) const {
    if (offset > length_ || length > length_ - offset) {
        return std::unexpected(invalid("offset " + std::to_string(offset) + " + length " +
                                       std::to_string(length) + " is beyond the region's " +
                                       std::to_string(length_) + " bytes"));
    }
    return bytes().subspan(offset, length);
}

std::expected<MrData, Failure> RegionMemory::read(const MrRead& request) const {
    const auto found = range(request.offset, request.length);
    if (!found) return std::unexpected(found.error());
    if (request.length > kMaxReadBytes) {
        return std::unexpected(invalid("length: expected at most 8388608 bytes, got " +
                                       std::to_string(request.length)));
    }
    return MrData{.data = {found->begin(), found->end()}};
}

std::expected<Done, Failure> RegionMemory::write(const MrWrite& request) const {
    const auto found = range(request.offset, request.data.size());
    if (!found) return std::unexpected(found.error());
    std::ranges::copy(request.data, found->begin());
    return Done{};
}

std::expected<Done, Failure> RegionMemory::fill(const MrFill& request) const {
    const auto found = range(request.offset, request.length);
    if (!found) return std::unexpected(found.error());
    write_pattern(*found, request.pattern, request.offset, request.key.value_or(0));
    return Done{};
}

std::expected<MrDigested, Failure> RegionMemory::digest(const MrDigest& request) const {
    const auto found = range(request.offset, request.length);
    if (!found) return std::unexpected(found.error());
    const auto before = pattern_mismatch(guard_before(), Pattern::Random, 0, kBeforeKey);
    const auto behind = pattern_mismatch(guard_after(), Pattern::Random, 0, kAfterKey);
    MrDigested digest{.crc32c = wire::crc32c(*found), .guards_intact = !before && !behind};
    if (before) digest.guard_before = page_bytes - *before;
    if (behind) digest.guard_behind = length_ + *behind;
    return digest;
}

} // namespace veriroce::dut
