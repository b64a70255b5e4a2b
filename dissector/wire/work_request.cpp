#include "dissector/wire/work_request.hpp"

#include <algorithm>
#include <array>

namespace veriroce::wire {
namespace {

constexpr std::array<std::string_view, 12> kNames{
    "SEND",      "SEND_WITH_IMM",      "SEND_WITH_INV",        "RDMA_WRITE", "RDMA_WRITE_WITH_IMM",
    "RDMA_READ", "ATOMIC_CMP_AND_SWP", "ATOMIC_FETCH_AND_ADD", "LOCAL_INV",  "BIND_MW",
    "FLUSH",     "ATOMIC_WRITE"};
static_assert(kNames.size() == static_cast<std::size_t>(WrOpcode::AtomicWrite) + 1);

} // namespace

std::string_view name_of(WrOpcode opcode) {
    return kNames[static_cast<std::size_t>(opcode)];
}

std::optional<WrOpcode> wr_opcode_by_name(std::string_view name) {
    const auto found = std::ranges::find(kNames, name);
    if (found == kNames.end()) return std::nullopt;
    return static_cast<WrOpcode>(found - kNames.begin());
}

std::span<const std::string_view> wr_opcode_names() {
    return kNames;
}

} // namespace veriroce::wire
