#include "dissector/analysis_page/html.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "dissector/analysis_page/page.hpp"
#include "dissector/print/json.hpp"
#include "dissector/wire/safe_text.hpp"

namespace veriroce::analysis_page {
namespace {

// No data can end its element or begin another.
std::string for_element(std::string_view json) {
    std::string out;
    out.reserve(json.size());
    for (const char c : json) {
        if (c == '<')
            out += "\\u003c";
        else
            out += c;
    }
    return out;
}

std::string names_of(std::span<const std::string> files) {
    std::string out = "[";
    for (const std::string& file : files) {
        if (out.size() > 1) out += ',';
        print::append_json_string(out, wire::safe_text(file));
    }
    return out + "]";
}

} // namespace

std::string page_html(const analyze::Report& whole, std::span<const std::string> files) {
    const analyze::Report report{
        .totals = whole.totals,
        .connections = {whole.connections.begin(),
                        whole.connections.begin() + static_cast<std::ptrdiff_t>(std::min(
                                                        kConnections, whole.connections.size()))}};
    std::string analysis;
    analyze::append_json(analysis, report);
    std::string graphs;
    analyze::append_graphs_json(graphs, report);
    const std::string data =
        fmt::format(R"({{"files":{},"connections":{},"analysis":{},"graphs":{}}})", names_of(files),
                    whole.connections.size(), analysis, graphs);
    return fmt::format(
        R"html(<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; img-src data:;
  style-src 'unsafe-inline'; script-src '{}'; base-uri 'none'; form-action 'none'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>veriroce analysis</title>
<style>
{}</style>
</head>
<body>
{}<script type="application/json" id="data">{}</script>
<script>{}</script>
</body>
</html>
)html",
        page::script_hash(), page::style(), page::body(), for_element(data), page::script());
}

} // namespace veriroce::analysis_page
