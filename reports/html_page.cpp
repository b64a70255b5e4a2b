#include "reports/html_page.hpp"

#include <new>
#include <vector>

#include <boost/json.hpp>
#include <fmt/format.h>
#include <zlib.h>

#include "conformance/dut/base64.hpp"
#include "reports/page.hpp"

namespace veriroce::reports {
namespace {

std::string escaped(std::string_view text) {
    std::string out;
    for (const char c : text) {
        if (c == '<')
            out += "&lt;";
        else if (c == '&')
            out += "&amp;";
        else
            out += c;
    }
    return out;
}

struct Script {
    std::string_view text;
    std::string_view hash;
};

std::vector<Script> scripts_of(const PageData& data) {
    std::vector<Script> scripts{{page::tools(), page::tools_hash()}};
    if (data.plots) {
        scripts.push_back({page::chart(), page::chart_hash()});
        scripts.push_back({page::plots(), page::plots_hash()});
    }
    if (data.kind != PageKind::Comparison) {
        scripts.push_back({page::ladder(), page::ladder_hash()});
    }
    switch (data.kind) {
    case PageKind::Report: scripts.push_back({page::report(), page::report_hash()}); break;
    case PageKind::Comparison: scripts.push_back({page::compare(), page::compare_hash()}); break;
    case PageKind::Injection: scripts.push_back({page::injection(), page::injection_hash()}); break;
    }
    return scripts;
}

std::string_view body_of(PageKind kind) {
    switch (kind) {
    case PageKind::Report: return page::report_body();
    case PageKind::Comparison: return page::compare_body();
    case PageKind::Injection: return page::injection_body();
    }
    return {};
}

} // namespace

std::string html_page(const PageData& data) {
    std::string policy;
    std::string elements;
    for (const Script& script : scripts_of(data)) {
        policy += fmt::format(" '{}'", script.hash);
        elements += fmt::format("<script>{}</script>\n", script.text);
    }
    const std::string licences =
        data.plots ? fmt::format("<footer><details><summary>Licences</summary><pre>{}</pre>"
                                 "</details></footer>\n",
                                 escaped(page::copyright()))
                   : "";
    return fmt::format(
        R"html(<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; img-src data:;
  style-src 'unsafe-inline'; script-src{}; base-uri 'none'; form-action 'none'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>veriroce report</title>
<style>
{}</style>
</head>
<body>
{}{}<script type="application/json" id="head">{}</script>
<script type="text/plain" id="body">{}</script>
{}</body>
</html>
)html",
        policy, page::style(), body_of(data.kind), licences, data.head, data.packed, elements);
}

std::string for_element(const boost::json::value& value) {
    std::string out;
    for (const char c : boost::json::serialize(value)) {
        if (c == '<')
            out += "\\u003c";
        else
            out += c;
    }
    return out;
}

std::string packed(const std::string& plain) {
    z_stream stream{};
    constexpr int raw = -MAX_WBITS;
    if (deflateInit2(&stream, Z_BEST_COMPRESSION, Z_DEFLATED, raw, MAX_MEM_LEVEL,
                     Z_DEFAULT_STRATEGY) != Z_OK) {
        throw std::bad_alloc();
    }
    std::vector<std::byte> out(deflateBound(&stream, plain.size()));
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(plain.data()));
    stream.avail_in = static_cast<uInt>(plain.size());
    stream.next_out = reinterpret_cast<Bytef*>(out.data());
    stream.avail_out = static_cast<uInt>(out.size());
    deflate(&stream, Z_FINISH);
    out.resize(stream.total_out);
    deflateEnd(&stream);
    return dut::to_base64(out);
}

} // namespace veriroce::reports
