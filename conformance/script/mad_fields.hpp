// Messages of connection management and their fields, as a script names them. Names and places are
// those of the dissector's field table: `cm.serviceid` of a CM_REQ is infiniband.cm.req.serviceid,
// `mad.method` of every message infiniband.mad.method. `cm.private` is the private data.
//
// Errors: a name that the message does not have is nothing. Source: dissector/decode.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "conformance/script/ast.hpp"

namespace veriroce::script {

// CM_REQ, CM_REJ, ...
std::vector<std::string_view> management_names();
std::optional<std::uint16_t> management_attribute(std::string_view name);
// Empty for an attribute that is no such message.
std::string_view management_name(std::uint16_t attribute);

std::vector<std::string_view> mad_field_names(std::uint16_t attribute);
std::optional<MadField> mad_field(std::uint16_t attribute, std::string_view name);

} // namespace veriroce::script
