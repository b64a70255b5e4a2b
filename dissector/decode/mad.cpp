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

constexpr std::array kCmMessages{
    Row{0x10, "ConnectRequest"},
    Row{0x11, "MsgRcptAck"},
    Row{0x12, "ConnectReject"},
    Row{0x13, "ConnectReply"},
    Row{0x14, "ReadyToUse"},
    Row{0x15, "DisconnectRequest"},
    Row{0x16, "DisconnectReply"},
    Row{0x17, "ServiceIDResReq"},
    Row{0x18, "ServiceIDResReqResp"},
    Row{0x19, "LoadAlternatePath"},
    Row{0x1A, "AlternatePathResponse"},
};

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
std::string_view cm_message_name(std::uint16_t attribute) {
    return find(kCmMessages, attribute);
}

} // namespace veriroce::decode
