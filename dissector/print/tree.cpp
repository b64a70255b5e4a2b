#include "dissector/print/tree.hpp"

#include "dissector/decode/field.hpp"
#include "dissector/print/append.hpp"
#include "dissector/print/value_text.hpp"

namespace veriroce::print {
namespace {

using decode::Dissection;
using decode::FieldRow;
using decode::LayerSpan;

constexpr std::size_t kPlaceWidth = 9;

// "002a" for whole bytes, "002b.5-4" for bits of one byte; empty for a field without a place in the
// frame.
void append_place(std::string& out, const FieldRow& row, const LayerSpan& layer) {
    const std::size_t start = out.size();
    if (row.bits != 0 || row.compute == nullptr) {
        append<"{:04x}">(out, layer.offset + row.bit / 8U);
        const unsigned first = 7U - row.bit % 8U;
        if (row.bits != 0 && row.bits < 8 && row.bits <= first + 1U) {
            const unsigned last = first + 1U - row.bits;
            append<".{}">(out, first);
            if (last != first) append<"-{}">(out, last);
        }
    }
    const std::size_t size = out.size() - start;
    out.append(size < kPlaceWidth ? kPlaceWidth - size : 1, ' ');
}

void append_field(std::string& out, const FieldRow& row, const decode::Value& value,
                  const LayerSpan& layer) {
    out += "    ";
    append_place(out, row, layer);
    append<"{}: ">(out, row.title);
    if (row.format == decode::Format::Boolean) {
        out += value.number != 0 ? "True" : "False";
    } else {
        append_value(out, row, value);
    }
    const std::string_view meaning =
        row.meaning != nullptr ? row.meaning(value.number) : std::string_view{};
    if (!meaning.empty()) append<" ({})">(out, meaning);
    out += '\n';
}

void append_heading(std::string& out, const Dissection& d, const LayerSpan& layer) {
    if (layer.kind == decode::LayerKind::Frame) {
        append<"Frame {}: {} bytes on wire, {} bytes captured\n">(
            out, d.frame.number, d.frame_length(), d.captured_length());
        return;
    }
    if (layer.kind == decode::LayerKind::Flow) { // it has no bytes
        append<"{}\n">(out, decode::layer_info(layer.kind).title);
        return;
    }
    append<"{}, {} byte{} at {:04x}\n">(out, decode::layer_info(layer.kind).title, layer.length,
                                        layer.length == 1 ? "" : "s", layer.offset);
}

void append_findings(std::string& out, const Dissection& d) {
    if (d.findings.empty()) return;
    out += "Findings\n";
    for (const decode::Finding& finding : d.findings.all()) {
        out += "    ";
        append_finding(out, finding);
        out += '\n';
    }
    if (d.findings.dropped() > 0) append<"    and {} more\n">(out, d.findings.dropped());
}

} // namespace

bool add_layers(DetailedLayers& layers, std::string_view name) {
    bool found = false;
    for (std::size_t i = 0; i < decode::kLayerKinds; ++i) {
        const std::string_view layer = decode::layer_info(static_cast<decode::LayerKind>(i)).name;
        const bool inside = layer.starts_with(name) && layer.substr(name.size()).starts_with('.');
        if (layer != name && !inside) continue;
        layers.set(i);
        found = true;
    }
    return found;
}

void append_tree(std::string& out, const Dissection& dissection, DetailedLayers detailed) {
    for (const LayerSpan& layer : dissection.layers) {
        append_heading(out, dissection, layer);
        if (!detailed.test(static_cast<std::size_t>(layer.kind))) continue;
        for (const FieldRow& row : decode::fields_of(layer.kind)) {
            if (row.shown != decode::Shown::Everywhere) continue;
            decode::for_each_value(row, dissection, layer, [&](const decode::Value& value) {
                append_field(out, row, value, layer);
            });
        }
    }
    if (dissection.cut) out += "The capture ends here: the frame was truncated\n";
    append_findings(out, dissection);
    out += '\n';
}

void append_finding(std::string& out, const decode::Finding& finding) {
    using Values = decode::FindingInfo::Values;
    const decode::FindingInfo& info = decode::finding_info(finding.kind);
    append<"{} {}: {}">(out, decode::name_of(info.severity), info.rule,
                        decode::sentence_of(finding));
    switch (info.values) {
    case Values::None: break;
    case Values::Found: append<" (got {:#x})">(out, finding.found); break;
    case Values::Decimal:
        append<" (expected {}, got {})">(out, finding.expected, finding.found);
        break;
    case Values::Hex:
        out += " (found 0x";
        append_hex_digits(out, finding.found, 2 * finding.length);
        out += ", expected 0x";
        append_hex_digits(out, finding.expected, 2 * finding.length);
        out += ')';
        break;
    }
    if (finding.length <= 1) {
        append<", at byte {}">(out, finding.offset);
    } else {
        append<", bytes {}..{}">(out, finding.offset, finding.offset + finding.length - 1);
    }
}

} // namespace veriroce::print
