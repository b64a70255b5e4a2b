#include "dissector/decode/upper_names.hpp"

#include <array>

namespace veriroce::decode {
namespace {

struct Row {
    std::uint64_t value;
    std::string_view name;
};

constexpr std::array kAdmin{
    Row{0x00, "Delete I/O Submission Queue"},
    Row{0x01, "Create I/O Submission Queue"},
    Row{0x02, "Get Log Page"},
    Row{0x04, "Delete I/O Completion Queue"},
    Row{0x05, "Create I/O Completion Queue"},
    Row{0x06, "Identify"},
    Row{0x08, "Abort"},
    Row{0x09, "Set Features"},
    Row{0x0A, "Get Features"},
    Row{0x0C, "Asynchronous Event Request"},
    Row{0x0D, "Namespace Management"},
    Row{0x10, "Firmware Commit"},
    Row{0x11, "Firmware Image Download"},
    Row{0x14, "Device Self-test"},
    Row{0x15, "Namespace Attachment"},
    Row{0x18, "Keep Alive"},
    Row{0x19, "Directive Send"},
    Row{0x1A, "Directive Receive"},
    Row{0x1C, "Virtualization Management"},
    Row{0x1D, "NVMe-MI Send"},
    Row{0x1E, "NVMe-MI Receive"},
    Row{0x7C, "Doorbell Buffer Config"},
    Row{0x80, "Format NVM"},
    Row{0x81, "Security Send"},
    Row{0x82, "Security Receive"},
    Row{0x84, "Sanitize"},
    Row{0x86, "Get LBA Status"},
};

constexpr std::array kIo{
    Row{0x00, "Flush"},
    Row{0x01, "Write"},
    Row{0x02, "Read"},
    Row{0x04, "Write Uncorrectable"},
    Row{0x05, "Compare"},
    Row{0x08, "Write Zeroes"},
    Row{0x09, "Dataset Management"},
    Row{0x0C, "Verify"},
    Row{0x0D, "Reservation Register"},
    Row{0x0E, "Reservation Report"},
    Row{0x11, "Reservation Acquire"},
    Row{0x15, "Reservation Release"},
};

constexpr std::array kFabrics{
    Row{0x00, "Property Set"},           Row{0x01, "Connect"},
    Row{0x04, "Property Get"},           Row{0x05, "Authentication Send"},
    Row{0x06, "Authentication Receive"}, Row{0x08, "Disconnect"},
};

constexpr std::array kProperties{
    Row{0x00, "Controller Capabilities"},  Row{0x08, "Version"},
    Row{0x14, "Controller Configuration"}, Row{0x1C, "Controller Status"},
    Row{0x20, "NVM Subsystem Reset"},
};

constexpr std::array kSglTypes{
    Row{0x0, "Data Block"},      Row{0x1, "Bit Bucket"},       Row{0x2, "Segment"},
    Row{0x3, "Last Segment"},    Row{0x4, "Keyed Data Block"}, Row{0x5, "Transport Data Block"},
    Row{0xF, "Vendor Specific"},
};

constexpr std::array kStatusTypes{
    Row{0, "Generic"},      Row{1, "Command Specific"}, Row{2, "Media and Data Integrity"},
    Row{3, "Path Related"}, Row{7, "Vendor Specific"},
};

constexpr std::array kGenericStatus{
    Row{0x00, "Successful Completion"},
    Row{0x01, "Invalid Command Opcode"},
    Row{0x02, "Invalid Field in Command"},
    Row{0x03, "Command ID Conflict"},
    Row{0x04, "Data Transfer Error"},
    Row{0x05, "Aborted due to Power Loss"},
    Row{0x06, "Internal Error"},
    Row{0x07, "Command Abort Requested"},
    Row{0x08, "Aborted due to SQ Deletion"},
    Row{0x09, "Aborted due to Failed Fused Command"},
    Row{0x0A, "Aborted due to Missing Fused Command"},
    Row{0x0B, "Invalid Namespace or Format"},
    Row{0x0C, "Command Sequence Error"},
    Row{0x0F, "Data SGL Length Invalid"},
    Row{0x11, "SGL Descriptor Type Invalid"},
    Row{0x16, "SGL Offset Invalid"},
    Row{0x18, "Host Identifier Inconsistent Format"},
    Row{0x19, "Keep Alive Timer Expired"},
    Row{0x1A, "Keep Alive Timeout Invalid"},
    Row{0x80, "LBA Out of Range"},
    Row{0x81, "Capacity Exceeded"},
    Row{0x82, "Namespace Not Ready"},
    Row{0x83, "Reservation Conflict"},
};

constexpr std::array kIser{
    Row{1, "iSCSI Control-Type PDU"},
    Row{2, "Hello Message"},
    Row{3, "HelloReply Message"},
};

constexpr std::array kIscsi{
    Row{0x00, "NOP Out"},
    Row{0x01, "SCSI Command"},
    Row{0x02, "Task Management Function Request"},
    Row{0x03, "Login Request"},
    Row{0x04, "Text Request"},
    Row{0x05, "SCSI Data Out"},
    Row{0x06, "Logout Request"},
    Row{0x10, "SNACK Request"},
    Row{0x20, "NOP In"},
    Row{0x21, "SCSI Response"},
    Row{0x22, "Task Management Function Response"},
    Row{0x23, "Login Response"},
    Row{0x24, "Text Response"},
    Row{0x25, "SCSI Data In"},
    Row{0x26, "Logout Response"},
    Row{0x31, "Ready To Transfer"},
    Row{0x32, "Asynchronous Message"},
    Row{0x3F, "Reject"},
};

constexpr std::array kRpcProcedures{
    Row{0, "RDMA_MSG"},  Row{1, "RDMA_NOMSG"}, Row{2, "RDMA_MSGP"},
    Row{3, "RDMA_DONE"}, Row{4, "RDMA_ERROR"},
};

constexpr std::array kRpcErrors{Row{1, "ERR_VERS"}, Row{2, "ERR_CHUNK"}};

template <std::size_t N>
std::string_view find(const std::array<Row, N>& rows, std::uint64_t value) {
    for (const Row& row : rows) {
        if (row.value == value) return row.name;
    }
    return {};
}

} // namespace

std::string_view nvme_admin_opcode_name(std::uint64_t opcode) {
    return find(kAdmin, opcode);
}
std::string_view nvme_io_opcode_name(std::uint64_t opcode) {
    return find(kIo, opcode);
}
std::string_view nvme_fabrics_type_name(std::uint64_t type) {
    return find(kFabrics, type);
}
std::string_view nvme_property_name(std::uint64_t offset) {
    return find(kProperties, offset);
}
std::string_view nvme_sgl_type_name(std::uint64_t type) {
    return find(kSglTypes, type);
}
std::string_view nvme_status_type_name(std::uint64_t type) {
    return find(kStatusTypes, type);
}
std::string_view nvme_generic_status_name(std::uint64_t code) {
    return find(kGenericStatus, code);
}
std::string_view iser_opcode_name(std::uint64_t opcode) {
    return find(kIser, opcode);
}
std::string_view iscsi_opcode_name(std::uint64_t opcode) {
    return find(kIscsi, opcode);
}
std::string_view rpc_rdma_procedure_name(std::uint64_t procedure) {
    return find(kRpcProcedures, procedure);
}
std::string_view rpc_rdma_error_name(std::uint64_t error) {
    return find(kRpcErrors, error);
}

} // namespace veriroce::decode
