#include "conformance/dut/capabilities.hpp"

#include <algorithm>
#include <string>

namespace veriroce::dut {

namespace {

bool has(const Welcome& welcome, std::string_view word) {
    return std::ranges::find(welcome.capabilities, word) != welcome.capabilities.end();
}

void add(Welcome& welcome, std::string_view word) {
    if (!has(welcome, word)) welcome.capabilities.emplace_back(word);
}

} // namespace

void complete(Welcome& welcome) {
    const bool one_type = has(welcome, "mw1") || has(welcome, "mw2");
    if (!welcome.probed.value_or(false)) {
        for (const std::string_view word : {"mtu256", "reset_reuse", "query_qp"})
            add(welcome, word);
        if (has(welcome, "mw") && !one_type) {
            add(welcome, "mw1");
            add(welcome, "mw2");
        }
    }
    if (one_type) add(welcome, "mw");
}

void remove_capability(Welcome& welcome, std::string_view word) {
    const auto erase = [&](std::string_view one) { std::erase(welcome.capabilities, one); };
    erase(word);
    if (word == "mw") {
        erase("mw1");
        erase("mw2");
    }
    const bool window = word == "mw1" || word == "mw2";
    if (window && !has(welcome, "mw1") && !has(welcome, "mw2")) erase("mw");
}

void add_capability(Welcome& welcome, std::string_view word) {
    add(welcome, word);
    if (word == "mw1" || word == "mw2") add(welcome, "mw");
    if (word == "mw" && !has(welcome, "mw1") && !has(welcome, "mw2")) {
        add(welcome, "mw1");
        add(welcome, "mw2");
    }
}

} // namespace veriroce::dut
