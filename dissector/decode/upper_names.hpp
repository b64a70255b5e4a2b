// Names for values of the protocols above the transport. Empty for values without a name.
//
// Source: NVM Express 1.4 and NVMe over Fabrics 1.1, RFC 7143, RFC 7145, MS-SMBD, RFC 8166.
#pragma once

#include <cstdint>
#include <string_view>

namespace veriroce::decode {

std::string_view nvme_admin_opcode_name(std::uint64_t opcode);
std::string_view nvme_io_opcode_name(std::uint64_t opcode);
std::string_view nvme_fabrics_type_name(std::uint64_t type);
std::string_view nvme_property_name(std::uint64_t offset);
std::string_view nvme_sgl_type_name(std::uint64_t type);
std::string_view nvme_status_type_name(std::uint64_t type);
// Of the status code type 0, which all commands share.
std::string_view nvme_generic_status_name(std::uint64_t code);

std::string_view iser_opcode_name(std::uint64_t opcode);
std::string_view iscsi_opcode_name(std::uint64_t opcode);

std::string_view rpc_rdma_procedure_name(std::uint64_t procedure);
std::string_view rpc_rdma_error_name(std::uint64_t error);

} // namespace veriroce::decode
