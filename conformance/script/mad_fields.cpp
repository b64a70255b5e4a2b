#include "conformance/script/mad_fields.hpp"

#include <algorithm>
#include <array>
#include <deque>
#include <string>

#include "dissector/decode/field.hpp"
#include "dissector/decode/mad.hpp"
#include "dissector/wire/management.hpp"

namespace veriroce::script {
namespace {

using decode::LayerKind;

struct Message {
    LayerKind layer;
    std::string_view name;
};
constexpr std::array kMessages{
    Message{LayerKind::CmReq, "CM_REQ"},          Message{LayerKind::CmMra, "CM_MRA"},
    Message{LayerKind::CmRej, "CM_REJ"},          Message{LayerKind::CmRep, "CM_REP"},
    Message{LayerKind::CmRtu, "CM_RTU"},          Message{LayerKind::CmDreq, "CM_DREQ"},
    Message{LayerKind::CmDrep, "CM_DREP"},        Message{LayerKind::CmSidrReq, "CM_SIDR_REQ"},
    Message{LayerKind::CmSidrRep, "CM_SIDR_REP"}, Message{LayerKind::CmLap, "CM_LAP"},
    Message{LayerKind::CmApr, "CM_APR"},
};

struct Fields {
    std::uint16_t attribute = 0;
    std::string_view name;
    std::deque<std::string> names; // which the fields point to
    std::vector<MadField> fields;
};

// The name after the last dot. Wireshark gives the first field of REQ and REP the message's name.
std::string short_name(const decode::FieldRow& row, std::string_view prefix) {
    const std::string_view own = row.name.substr(row.name.rfind('.') + 1);
    const bool of_message = own == "req" || own == "rep";
    return std::string(prefix) + std::string(of_message ? "localcommid" : own);
}

void add(Fields& to, std::string name, std::size_t bit, std::size_t bits) {
    const std::string& kept = to.names.emplace_back(std::move(name));
    to.fields.push_back({kept, static_cast<std::uint16_t>(bit), static_cast<std::uint16_t>(bits)});
}

// A row without bits of its own is computed from others, and a GID has a second name for IPv4.
void add_rows(Fields& to, LayerKind layer, std::string_view prefix, std::size_t first_bit) {
    for (const decode::FieldRow& row : decode::fields_of(layer)) {
        if (row.bits == 0 || row.name.ends_with("_ipv4")) continue;
        add(to, short_name(row, prefix), first_bit + row.bit, row.bits);
    }
}

void fill(Fields& fields, const decode::CmLayout& layout) {
    constexpr std::size_t message_bit = decode::kMadHeaderBytes * 8;
    fields.attribute = layout.attribute;
    const auto known = std::ranges::find(kMessages, layout.layer, &Message::layer);
    if (known != kMessages.end()) fields.name = known->name;
    add_rows(fields, LayerKind::Mad, "mad.", 0);
    add_rows(fields, layout.layer, "cm.", message_bit);
    const std::size_t private_bit = message_bit + std::size_t{layout.bytes} * 8;
    add(fields, "cm.private", private_bit, std::size_t{wire::kMadBytes} * 8 - private_bit);
}

// Made in place: fields point to the names beside them.
const std::deque<Fields>& table() {
    static const std::deque<Fields> all = [] {
        constexpr std::uint16_t first = 0x10;
        std::deque<Fields> rows;
        for (std::uint16_t attribute = first; const auto* layout = decode::cm_layout(attribute);
             ++attribute)
            fill(rows.emplace_back(), *layout);
        return rows;
    }();
    return all;
}

const Fields* fields_of(std::uint16_t attribute) {
    const auto found = std::ranges::find(table(), attribute, &Fields::attribute);
    return found == table().end() ? nullptr : &*found;
}

} // namespace

std::vector<std::string_view> management_names() {
    std::vector<std::string_view> names;
    for (const Fields& one : table())
        names.push_back(one.name);
    return names;
}

std::optional<std::uint16_t> management_attribute(std::string_view name) {
    const auto found = std::ranges::find(table(), name, &Fields::name);
    if (found == table().end()) return std::nullopt;
    return found->attribute;
}

std::string_view management_name(std::uint16_t attribute) {
    const Fields* fields = fields_of(attribute);
    return fields == nullptr ? std::string_view{} : fields->name;
}

std::vector<std::string_view> mad_field_names(std::uint16_t attribute) {
    std::vector<std::string_view> names;
    if (const Fields* fields = fields_of(attribute)) {
        for (const MadField& one : fields->fields)
            names.push_back(one.name);
    }
    return names;
}

std::optional<MadField> mad_field(std::uint16_t attribute, std::string_view name) {
    const Fields* fields = fields_of(attribute);
    if (fields == nullptr) return std::nullopt;
    const auto found = std::ranges::find(fields->fields, name, &MadField::name);
    if (found == fields->fields.end()) return std::nullopt;
    return *found;
}

} // namespace veriroce::script
