// tshark, asked by tests. Without it they fail: a comparison that did not happen is not a success.
#pragma once

#include <catch2/catch.hpp>

#include <array>
#include <cstdio>
#include <string>

#include "tests/dissector/dissect/command.hpp"

namespace veriroce::dissect::test {

// What a command writes; it must succeed.
inline std::string written_by(const std::string& command) {
    std::FILE* pipe = ::popen(command.c_str(), "r");
    REQUIRE(pipe != nullptr);
    std::string text;
    std::array<char, 65'536> piece;
    for (std::size_t got = 0; (got = std::fread(piece.data(), 1, piece.size(), pipe)) > 0;) {
        text.append(piece.data(), got);
    }
    INFO("tshark must be installed: " << command.substr(0, 200));
    REQUIRE(::pclose(pipe) == 0);
    return text;
}

// Its settings come from an empty folder, so that the user's settings do not matter.
inline std::string tshark(const std::string& arguments) {
    const TemporaryFolder settings;
    return written_by("WIRESHARK_CONFIG_DIR=" + settings.path().string() + " tshark " + arguments +
                      " 2>/dev/null");
}

} // namespace veriroce::dissect::test
