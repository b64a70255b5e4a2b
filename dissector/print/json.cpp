#include "dissector/print/json.hpp"

#include <iterator>

#include <fmt/format.h>

#include "dissector/print/append.hpp"
#include "dissector/print/value_text.hpp"

namespace veriroce::print {
namespace {

constexpr std::uint16_t kWidestNumber = 32;

void append_json_value(std::string& out, const decode::FieldRow& row, const decode::Value& value) {
    switch (row.format) {
    case decode::Format::Boolean: out += value.number != 0 ? "true" : "false"; break;
    case decode::Format::Decimal:
        if (row.bits <= kWidestNumber) {
            append_value(out, row, value);
            break;
        }
        [[fallthrough]];
    case decode::Format::Hex:
    case decode::Format::Mac:
    case decode::Format::Ipv4:
    case decode::Format::Ipv6:
    case decode::Format::Bytes:
    case decode::Format::Seconds:
    case decode::Format::Date: // values in these formats need no escaping
        out += '"';
        append_value(out, row, value);
        out += '"';
        break;
    case decode::Format::Text: append_json_string(out, value.text); break;
    }
}

// One field as a member, preceded by a comma unless it is the first. False if the packet does not
// have the field.
bool append_member(std::string& out, const decode::Dissection& dissection, const Column& column,
                   bool first) {
    std::size_t values = 0;
    std::size_t start = 0;
    column.for_each(dissection, [&](const decode::FieldRow& row, const decode::Value& value) {
        if (values == 0) {
            if (!first) out += ',';
            append<"\"{}\":">(out, column.name());
            start = out.size();
        } else {
            out += ',';
        }
        ++values;
        append_json_value(out, row, value);
    });
    if (values > 1) {
        out.insert(start, 1, '[');
        out += ']';
    }
    return values > 0;
}

void append_findings(std::string& out, const decode::Dissection& dissection, bool first) {
    if (!first) out += ',';
    out += "\"roce.findings\":[";
    const char* comma = "";
    for (const decode::Finding& finding : dissection.findings.all()) {
        const decode::FindingInfo& info = decode::finding_info(finding.kind);
        fmt::format_to(std::back_inserter(out),
                       "{}{{\"rule\":\"{}\",\"severity\":\"{}\",\"text\":", comma, info.rule,
                       decode::name_of(info.severity));
        append_json_string(out, decode::sentence_of(finding));
        fmt::format_to(std::back_inserter(out), ",\"offset\":{},\"length\":{}}}", finding.offset,
                       finding.length);
        comma = ",";
    }
    out += ']';
}

// The size of the UTF-8 character (RFC 3629) at the beginning of `text`; 0 if it is not valid.
std::size_t character_bytes(std::string_view text) {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    const unsigned lead = byte(0);
    if (lead < 0x80) return 1;
    const std::size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
    if (lead < 0xC2 || lead > 0xF4 || text.size() < length) return 0;
    for (std::size_t i = 1; i < length; ++i) {
        if ((byte(i) & 0xC0U) != 0x80) return 0;
    }
    const unsigned second = byte(1);
    const bool overlong = (lead == 0xE0 && second < 0xA0) || (lead == 0xF0 && second < 0x90);
    const bool beyond = (lead == 0xED && second > 0x9F) || (lead == 0xF4 && second > 0x8F);
    return overlong || beyond ? 0 : length;
}

void append_ascii(std::string& out, char c) {
    switch (c) {
    case '"': out += "\\\""; break;
    case '\\': out += "\\\\"; break;
    case '\n': out += "\\n"; break;
    case '\t': out += "\\t"; break;
    default:
        if (static_cast<unsigned char>(c) >= 0x20) {
            out += c;
        } else {
            fmt::format_to(std::back_inserter(out), "\\u{:04x}", static_cast<unsigned>(c));
        }
    }
}

} // namespace

void append_json_string(std::string& out, std::string_view text) {
    out += '"';
    while (!text.empty()) {
        const std::size_t length = character_bytes(text);
        if (length == 0) {
            out += "\\ufffd"; // an invalid byte, for example in a file name
        } else if (length == 1) {
            append_ascii(out, text.front());
        } else {
            out += text.substr(0, length);
        }
        text.remove_prefix(length == 0 ? 1 : length);
    }
    out += '"';
}

void append_json_begin(std::string& out) {
    out += "{\"schema\":\"veriroce/packets/1\",\"packets\":[";
}

void append_json_packet(std::string& out, const decode::Dissection& dissection,
                        std::span<const Column> columns, std::string_view file, bool findings) {
    out += '{';
    bool empty = true;
    if (!file.empty()) {
        out += "\"roce.file\":";
        append_json_string(out, file);
        empty = false;
    }
    for (const Column& column : columns) {
        if (append_member(out, dissection, column, empty)) empty = false;
    }
    if (findings && !dissection.findings.empty()) append_findings(out, dissection, empty);
    out += '}';
}

void append_json_end(std::string& out) {
    out += "\n]}\n";
}

} // namespace veriroce::print
