#include "dissector/decode/mad.hpp"

#include "dissector/wire/management.hpp"

#include <array>

namespace veriroce::decode {
namespace {

struct Row {
    std::uint16_t value;
    std::string_view name;
};

// Classes, and ranges of them.
struct ClassRow {
    std::uint8_t first;
    std::uint8_t last;
    std::string_view name;
    std::string_view prefix;
};
constexpr ClassRow kReservedClass{0, 0, "Reserved", ""};

constexpr std::uint8_t kSubnetLid = 0x01;
constexpr std::uint8_t kSubnetDirected = 0x81;
constexpr std::uint8_t kPerformance = 0x04;

constexpr std::array kClasses{
    ClassRow{kSubnetLid, kSubnetLid, "Subnet Management (LID routed)", "Subn"},
    ClassRow{kSaClass, kSaClass, "Subnet Administration", "SubnAdm"},
    ClassRow{kPerformance, kPerformance, "Performance Management", "Performance"},
    ClassRow{0x05, 0x05, "Baseboard Management", "BM"},
    ClassRow{0x06, 0x06, "Device Management", "DevMgt"},
    ClassRow{wire::kCmClass, wire::kCmClass, "Communication Management", "ComMgt"},
    ClassRow{0x08, 0x08, "SNMP Tunneling", "Snmp"},
    ClassRow{0x09, 0x0F, "Vendor", "Vendor"},
    ClassRow{0x10, 0x2F, "Application", "Application"},
    ClassRow{0x30, 0x4F, "Vendor with OUI", "Vendor"},
    ClassRow{kSubnetDirected, kSubnetDirected, "Subnet Management (directed route)", "Subn"},
};

// The table and trace methods are of subnet administration.
constexpr std::array kMethods{
    Row{0x01, "Get"},          Row{0x02, "Set"},           Row{0x03, "Send"},
    Row{0x05, "Trap"},         Row{0x06, "Report"},        Row{0x07, "TrapRepress"},
    Row{0x12, "GetTable"},     Row{0x13, "GetTraceTable"}, Row{0x14, "GetMulti"},
    Row{0x15, "Delete"},       Row{0x81, "GetResp"},       Row{0x86, "ReportResp"},
    Row{0x92, "GetTableResp"}, Row{0x94, "GetMultiResp"},  Row{0x95, "DeleteResp"},
};

// Of all classes but subnet management, which has no such information.
constexpr std::array kCommonAttributes{
    Row{0x01, "ClassPortInfo"},
    Row{0x02, "Notice"},
    Row{0x03, "InformInfo"},
};
constexpr std::array kSubnetAttributes{
    Row{0x02, "Notice"},
    Row{0x10, "NodeDescription"},
    Row{0x11, "NodeInfo"},
    Row{0x12, "SwitchInfo"},
    Row{0x14, "GUIDInfo"},
    Row{0x15, "PortInfo"},
    Row{0x16, "P_KeyTable"},
    Row{0x17, "SLtoVLMappingTable"},
    Row{0x18, "VLArbitrationTable"},
    Row{0x19, "LinearForwardingTable"},
    Row{0x1A, "RandomForwardingTable"},
    Row{0x1B, "MulticastForwardingTable"},
    Row{0x1C, "LinkSpeedWidthPairsTable"},
    Row{0x20, "SMInfo"},
    Row{0x30, "VendorDiag"},
    Row{0x31, "LedInfo"},
};
constexpr std::array kSaAttributes{
    Row{0x11, "NodeRecord"},
    Row{0x12, "PortInfoRecord"},
    Row{0x13, "SLtoVLMappingTableRecord"},
    Row{0x14, "SwitchInfoRecord"},
    Row{0x15, "LinearForwardingTableRecord"},
    Row{0x16, "RandomForwardingTableRecord"},
    Row{0x17, "MulticastForwardingTableRecord"},
    Row{0x18, "SMInfoRecord"},
    Row{0x20, "LinkRecord"},
    Row{0x30, "GuidInfoRecord"},
    Row{0x31, "ServiceRecord"},
    Row{0x33, "P_KeyTableRecord"},
    Row{kPathRecordAttribute, "PathRecord"},
    Row{0x36, "VLArbitrationTableRecord"},
    Row{0x38, "MCMemberRecord"},
    Row{0x39, "TraceRecord"},
    Row{0x3A, "MultiPathRecord"},
    Row{0x3B, "ServiceAssociationRecord"},
    Row{0xF3, "InformInfoRecord"},
};
constexpr std::array kPerformanceAttributes{
    Row{0x10, "PortSamplesControl"},
    Row{0x11, "PortSamplesResult"},
    Row{0x12, "PortCounters"},
    Row{0x1D, "PortCountersExtended"},
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

const ClassRow& class_row(std::uint8_t management_class) {
    for (const ClassRow& row : kClasses) {
        if (row.first <= management_class && management_class <= row.last) return row;
    }
    return kReservedClass;
}

} // namespace

std::string_view mad_class_name(std::uint8_t management_class) {
    return class_row(management_class).name;
}
std::string_view mad_class_prefix(std::uint8_t management_class) {
    return class_row(management_class).prefix;
}
std::string_view mad_method_name(std::uint8_t method) {
    return find(kMethods, method);
}
std::string_view mad_attribute_name(std::uint8_t management_class, std::uint16_t attribute) {
    if (management_class == kSubnetLid || management_class == kSubnetDirected) {
        return find(kSubnetAttributes, attribute);
    }
    std::string_view name;
    if (management_class == kSaClass) name = find(kSaAttributes, attribute);
    if (management_class == kPerformance) name = find(kPerformanceAttributes, attribute);
    const bool reserved = mad_class_prefix(management_class).empty();
    return name.empty() && !reserved ? find(kCommonAttributes, attribute) : name;
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
