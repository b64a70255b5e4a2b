// The verbs' names of all enumerators.
#include "transport/engine/verbs.hpp"

#include <algorithm>
#include <array>

namespace veriroce::engine {

namespace {

constexpr std::array<std::string_view, 3> kQpTypes{"RC", "UC", "UD"};
constexpr std::array<std::string_view, 7> kQpStates{"RESET", "INIT", "RTR", "RTS",
                                                    "SQD",   "SQE",  "ERR"};
constexpr std::array<std::string_view, 14> kWcStatuses{
    "SUCCESS",     "LOC_LEN_ERR",   "LOC_QP_OP_ERR",     "LOC_PROT_ERR",    "WR_FLUSH_ERR",
    "MW_BIND_ERR", "BAD_RESP_ERR",  "LOC_ACCESS_ERR",    "REM_INV_REQ_ERR", "REM_ACCESS_ERR",
    "REM_OP_ERR",  "RETRY_EXC_ERR", "RNR_RETRY_EXC_ERR", "GENERAL_ERR"};
constexpr std::array<std::string_view, 11> kWcOpcodes{
    "SEND",      "RDMA_WRITE", "RDMA_READ",    "COMP_SWAP", "FETCH_ADD",         "BIND_MW",
    "LOCAL_INV", "FLUSH",      "ATOMIC_WRITE", "RECV",      "RECV_RDMA_WITH_IMM"};
constexpr std::array<std::string_view, 11> kEventTypes{
    "COMM_EST", "SQ_DRAINED",        "QP_FATAL",         "QP_REQ_ERR", "QP_ACCESS_ERR", "CQ_ERR",
    "SRQ_ERR",  "SRQ_LIMIT_REACHED", "LAST_WQE_REACHED", "PATH_MIG",   "PATH_MIG_ERR"};
constexpr std::array<std::string_view, 5> kVerbErrors{"EINVAL", "ENOMEM", "ENOENT", "EBUSY",
                                                      "EOPNOTSUPP"};

template <typename Enum, std::size_t N>
std::optional<Enum> find(const std::array<std::string_view, N>& names, std::string_view name) {
    const auto found = std::ranges::find(names, name);
    if (found == names.end()) return std::nullopt;
    return static_cast<Enum>(found - names.begin());
}

template <typename Enum, std::size_t N>
std::string_view at(const std::array<std::string_view, N>& names, Enum value) {
    return names[static_cast<std::size_t>(value)];
}

} // namespace

std::string_view name_of(QpType value) {
    return at(kQpTypes, value);
}
std::string_view name_of(QpState value) {
    return at(kQpStates, value);
}
std::string_view name_of(WcStatus value) {
    return at(kWcStatuses, value);
}
std::string_view name_of(WcOpcode value) {
    return at(kWcOpcodes, value);
}
std::string_view name_of(EventType value) {
    return at(kEventTypes, value);
}
std::string_view name_of(VerbError value) {
    return at(kVerbErrors, value);
}

template <>
std::optional<QpType> enum_by_name(std::string_view name) {
    return find<QpType>(kQpTypes, name);
}
template <>
std::optional<QpState> enum_by_name(std::string_view name) {
    return find<QpState>(kQpStates, name);
}
template <>
std::optional<WrOpcode> enum_by_name(std::string_view name) {
    return wire::wr_opcode_by_name(name);
}
template <>
std::optional<WcStatus> enum_by_name(std::string_view name) {
    return find<WcStatus>(kWcStatuses, name);
}
template <>
std::optional<WcOpcode> enum_by_name(std::string_view name) {
    return find<WcOpcode>(kWcOpcodes, name);
}
template <>
std::optional<EventType> enum_by_name(std::string_view name) {
    return find<EventType>(kEventTypes, name);
}
template <>
std::optional<VerbError> enum_by_name(std::string_view name) {
    return find<VerbError>(kVerbErrors, name);
}

} // namespace veriroce::engine
