#include "dissector/decode/mad.hpp"

#include <array>

namespace veriroce::decode {
namespace {

struct Row {
    std::uint16_t value;
    std::string_view name;
};

constexpr std::array kClasses{
    Row{0x01, "Subnet Management (LID routed)"},
    Row{0x03, "Subnet Administration"},
    Row{0x04, "Performance Management"},
    Row{0x05, "Baseboard Management"},
    Row{0x06, "Device Management"},
    Row{kCmClass, "Communication Management"},
    Row{0x08, "SNMP Tunneling"},
    Row{0x81, "Subnet Management (directed route)"},
};

constexpr std::array kMethods{
    Row{0x01, "Get"},    Row{0x02, "Set"},         Row{0x03, "Send"},    Row{0x05, "Trap"},
    Row{0x06, "Report"}, Row{0x07, "TrapRepress"}, Row{0x81, "GetResp"}, Row{0x86, "ReportResp"},
};

using enum LayerKind;

constexpr std::array kCmLayouts{
    CmLayout{0x10, CmReq, 140, "ConnectRequest"},
    CmLayout{0x11, CmMra, 10, "MsgRcptAck"},
    CmLayout{0x12, CmRej, 84, "ConnectReject"},
    CmLayout{0x13, CmRep, 36, "ConnectReply"},
    CmLayout{0x14, CmRtu, 8, "ReadyToUse"},
    CmLayout{0x15, CmDreq, 12, "DisconnectRequest"},
    CmLayout{0x16, CmDrep, 8, "DisconnectReply"},
    CmLayout{0x17, CmSidrReq, 16, "ServiceIDResReq"},
    CmLayout{0x18, CmSidrRep, 96, "ServiceIDResReqResp"},
    CmLayout{0x19, CmLap, 64, "LoadAlternatePath"},
    CmLayout{0x1A, CmApr, 84, "AlternatePathResponse"},
};

constexpr std::array<std::string_view, 34> kRejectReasons{
    "",
    "No QP available",
    "No EEC available",
    "No resources available",
    "Timeout",
    "Unsupported request",
    "Invalid communication ID",
    "Invalid communication instance",
    "Invalid service ID",
    "Invalid transport service type",
    "Stale connection",
    "RDC does not exist",
    "Primary remote port GID rejected",
    "Primary remote port LID rejected",
    "Invalid primary SL",
    "Invalid primary traffic class",
    "Invalid primary hop limit",
    "Invalid primary packet rate",
    "Alternate remote port GID rejected",
    "Alternate remote port LID rejected",
    "Invalid alternate SL",
    "Invalid alternate traffic class",
    "Invalid alternate hop limit",
    "Invalid alternate packet rate",
    "Port and CM redirection",
    "Port redirection",
    "Invalid path MTU",
    "Insufficient responder resources",
    "Consumer reject",
    "RNR retry count reject",
    "Duplicate local communication ID",
    "Invalid class version",
    "Invalid primary flow label",
    "Invalid alternate flow label",
};

constexpr std::array<std::string_view, 4> kAnswered{"REQ", "REP", "LAP or no message", ""};

constexpr std::array<std::string_view, 6> kSidrStatus{
    "Valid QPN", "Service ID not supported", "Rejected by service provider", "No QP available",
    "Redirect",  "Version not supported",
};

constexpr std::array<std::string_view, 11> kPathStatus{
    "Alternate path loaded",
    "Invalid communication instance ID",
    "Alternate paths not supported",
    "Failover not accepted by remote device",
    "Rejected: QP or EEC connected to alternate path",
    "Path rejected",
    "Remote port GID rejected",
    "Remote port LID rejected",
    "Invalid SL",
    "Invalid traffic class",
    "Invalid hop limit",
};

template <std::size_t N>
std::string_view at(const std::array<std::string_view, N>& texts, std::uint64_t value) {
    return value < N ? texts[value] : std::string_view{};
}

template <std::size_t N>
std::string_view find(const std::array<Row, N>& rows, std::uint16_t value) {
    for (const Row& row : rows) {
        if (row.value == value) return row.name;
    }
    return {};
}

} // namespace

std::string_view mad_class_name(std::uint8_t management_class) {
    return find(kClasses, management_class);
}
std::string_view mad_method_name(std::uint8_t method) {
    return find(kMethods, method);
}
const CmLayout* cm_layout(std::uint16_t attribute) {
    for (const CmLayout& layout : kCmLayouts) {
        if (layout.attribute == attribute) return &layout;
    }
    return nullptr;
}
std::string_view cm_reject_reason(std::uint64_t reason) {
    return at(kRejectReasons, reason);
}
std::string_view cm_message_answered(std::uint64_t message) {
    return at(kAnswered, message);
}
std::string_view cm_sidr_status(std::uint64_t status) {
    return at(kSidrStatus, status);
}
std::string_view cm_alternate_path_status(std::uint64_t status) {
    return at(kPathStatus, status);
}

} // namespace veriroce::decode
