#include "dissector/print/column.hpp"

#include <algorithm>
#include <array>

#include "dissector/print/info.hpp"
#include "dissector/print/line.hpp"
#include "dissector/print/time_column.hpp"
#include "dissector/print/tree.hpp"

namespace veriroce::print {
namespace {

struct NamedPart {
    std::string_view name;
    LinePart part = LinePart::Number;
};

// tshark 4.0 and 4.2 write these names differently.
constexpr std::array kNamedParts{
    NamedPart{"_ws.col.No.", LinePart::Number},
    NamedPart{"_ws.col.Time", LinePart::Time},
    NamedPart{"_ws.col.Source", LinePart::Source},
    NamedPart{"_ws.col.Destination", LinePart::Destination},
    NamedPart{"_ws.col.Protocol", LinePart::Protocol},
    NamedPart{"_ws.col.Length", LinePart::Length},
    NamedPart{"_ws.col.Info", LinePart::Info},
    NamedPart{"_ws.expert", LinePart::Findings},
    NamedPart{"_ws.col.number", LinePart::Number},
    NamedPart{"_ws.col.time", LinePart::Time},
    NamedPart{"_ws.col.def_src", LinePart::Source},
    NamedPart{"_ws.col.def_dst", LinePart::Destination},
    NamedPart{"_ws.col.protocol", LinePart::Protocol},
    NamedPart{"_ws.col.length", LinePart::Length},
    NamedPart{"_ws.col.info", LinePart::Info},
    NamedPart{"_ws.expert.message", LinePart::Findings},
};

} // namespace

std::optional<Column> Column::find(std::string_view name) {
    if (const auto* part = std::ranges::find(kNamedParts, name, &NamedPart::name);
        part != kNamedParts.end()) {
        return Column(part->part, part->name);
    }
    auto field = decode::Column::find(name);
    if (!field) return std::nullopt;
    return Column(std::move(*field));
}

std::string_view Column::name() const {
    if (const auto* field = std::get_if<decode::Column>(&what_)) return field->name();
    return part_name_;
}

bool Column::needs_icrc() const {
    const auto* field = std::get_if<decode::Column>(&what_);
    if (field != nullptr) return field->needs_icrc();
    const auto part = std::get<LinePart>(what_);
    return part == LinePart::Info || part == LinePart::Findings;
}

bool Column::needs_flow() const {
    const auto* field = std::get_if<decode::Column>(&what_);
    if (field != nullptr) return field->stands_in(decode::LayerKind::Flow);
    return std::get<LinePart>(what_) == LinePart::Info;
}

bool Column::write(const decode::Dissection& dissection, LinePart part, std::size_t number) const {
    text_.clear();
    if (part == LinePart::Findings) {
        const auto findings = dissection.findings.all();
        if (number >= findings.size()) return false;
        append_finding(text_, findings[number]);
        return true;
    }
    if (number > 0) return false;
    switch (part) {
    case LinePart::Number: append<"{}">(text_, dissection.frame.number); break;
    case LinePart::Time: text_ = TimeColumn().text(dissection).text(); break;
    case LinePart::Source: text_ = address_text(dissection, false).text(); break;
    case LinePart::Destination: text_ = address_text(dissection, true).text(); break;
    case LinePart::Protocol: text_ = decode::name_of(dissection.protocol); break;
    case LinePart::Length: append<"{}">(text_, dissection.frame.original_length); break;
    case LinePart::Info: append_info(text_, dissection); break;
    case LinePart::Findings: break;
    }
    return true;
}

} // namespace veriroce::print
