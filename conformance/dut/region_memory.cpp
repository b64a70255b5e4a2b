#include "conformance/dut/region_memory.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>
#include <vector>

#include "conformance/dut/executor.hpp"
#include "dissector/wire/crc32c.hpp"

namespace veriroce::dut {

namespace {

// The content of the guards: bytes that no test writes by chance.
constexpr std::uint64_t kBeforeKey = 0xBEF0;
constexpr std::uint64_t kAfterKey = 0xAF7E;
// The answer, in base64, must fit in a line of 16 MiB.
constexpr std::uint64_t kMaxReadBytes = std::uint64_t{8} << 20;
// The system makes the pages of such regions at once: one call costs less than a fault for each
// page.
constexpr std::uint64_t kSmallBytes = std::uint64_t{256} << 10;

// Every region has the same guards: a copy and a comparison cost less than the pattern. The one
// after a region also fills the region's last page.
using GuardImage = std::array<std::byte, 2 * RegionMemory::page_bytes>;

GuardImage image_of(std::uint64_t key) {
    GuardImage image;
    write_pattern(image, Pattern::Random, 0, key);
    return image;
}
const GuardImage& image_before() {
    static const GuardImage image = image_of(kBeforeKey);
    return image;
}
const GuardImage& image_after() {
    static const GuardImage image = image_of(kAfterKey);
    return image;
}

void write_guard(wire::MutableBytes guard, const GuardImage& image) {
    std::memcpy(guard.data(), image.data(), guard.size());
}

std::optional<std::size_t> first_change(wire::Bytes guard, const GuardImage& image) {
    if (std::memcmp(guard.data(), image.data(), guard.size()) == 0) return std::nullopt;
    return std::ranges::mismatch(guard, image).in1 - guard.begin();
}

// Mappings that a thread gave back. Few sizes are common.
class Kept {
  public:
    Kept() = default;
    Kept(const Kept&) = delete;
    Kept& operator=(const Kept&) = delete;
    ~Kept() {
        for (const wire::MutableBytes one : kept_)
            munmap(one.data(), one.size());
    }

    wire::MutableBytes take(std::size_t size) {
        const auto found = std::ranges::find(kept_, size, &wire::MutableBytes::size);
        if (found == kept_.end()) return {};
        std::swap(*found, kept_.back());
        const wire::MutableBytes taken = kept_.back();
        kept_.pop_back();
        bytes_ -= taken.size();
        return taken;
    }
    // False if it should go back to the system.
    bool give(wire::MutableBytes memory) {
        if (bytes_ + memory.size() > kMostBytes) return false;
        kept_.push_back(memory);
        bytes_ += memory.size();
        return true;
    }

  private:
    static constexpr std::size_t kMostBytes = std::size_t{16} << 20;
    std::vector<wire::MutableBytes> kept_;
    std::size_t bytes_ = 0; // of all of them
};

Kept& kept() {
    thread_local Kept all;
    return all;
}

} // namespace

std::optional<RegionMemory> RegionMemory::allocate_again(std::uint64_t length) {
    const wire::MutableBytes memory = kept().take(footprint(length));
    if (memory.empty()) {
        auto region = allocate(length);
        if (region) region->again_ = true;
        return region;
    }
    RegionMemory region(memory, length);
    region.again_ = true;
    std::memset(region.bytes().data(), 0, length);
    write_guard(region.guard_before(), image_before());
    write_guard(region.guard_after(), image_after());
    return region;
}

std::optional<RegionMemory> RegionMemory::allocate(std::uint64_t length) {
    const std::size_t total = footprint(length);
    const int at_once = total <= kSmallBytes ? MAP_POPULATE : 0;
    void* memory =
        mmap(nullptr, total, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | at_once, -1, 0);
    if (memory == MAP_FAILED) return std::nullopt;
    RegionMemory region({static_cast<std::byte*>(memory), total}, length);
    write_guard(region.guard_before(), image_before());
    write_guard(region.guard_after(), image_after());
    return region;
}

RegionMemory::RegionMemory(RegionMemory&& other) noexcept
    : all_(std::exchange(other.all_, {})), length_(std::exchange(other.length_, 0)),
      again_(other.again_) {}

RegionMemory& RegionMemory::operator=(RegionMemory&& other) noexcept {
    std::swap(all_, other.all_);
    std::swap(length_, other.length_);
    std::swap(again_, other.again_);
    return *this;
}

RegionMemory::~RegionMemory() {
    if (all_.empty() || (again_ && kept().give(all_))) return;
    munmap(all_.data(), all_.size());
}

bool RegionMemory::guards_intact() const {
    return !first_change(guard_before(), image_before()) &&
           !first_change(guard_after(), image_after());
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

std::expected<std::optional<std::uint64_t>, Failure>
RegionMemory::wanted_address(const MrRegister& request) {
    if (request.access.zero_based) {
        if (request.iova) return std::unexpected(invalid("iova: a zero based region begins at 0"));
        return 0;
    }
    if (request.iova && *request.iova % page_bytes != 0)
        return std::unexpected(invalid("iova: expected a multiple of " +
                                       std::to_string(page_bytes) + ", got " +
                                       std::to_string(*request.iova)));
    return request.iova;
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
    const auto before = first_change(guard_before(), image_before());
    const auto behind = first_change(guard_after(), image_after());
    MrDigested digest{.crc32c = wire::crc32c(*found), .guards_intact = !before && !behind};
    if (before) digest.guard_before = page_bytes - *before;
    if (behind) digest.guard_behind = length_ + *behind;
    return digest;
}

} // namespace veriroce::dut
