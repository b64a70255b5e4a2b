// One self-contained HTML file: style, body, data and scripts of the folder page. Its content
// security policy allows these scripts by their hashes, and nothing from anywhere else.
//
// Text from outside stands only in the data, as JSON in which '<' is escaped and as base64.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <boost/json/fwd.hpp>

namespace veriroce::reports {

enum class PageKind : std::uint8_t { Report, Comparison, Injection };

struct PageData {
    PageKind kind = PageKind::Report;
    std::string head;   // for_element() of what the page shows at once
    std::string packed; // packed() of what it shows later; may be empty
    bool plots = false; // with Chart.js and its licence
};

std::string html_page(const PageData& data);

// No data can end its element or begin another.
std::string for_element(const boost::json::value& value);
// Raw deflate in base64.
std::string packed(const std::string& plain);

} // namespace veriroce::reports
