// What `veriroce serve -v` prints.
#include <catch2/catch.hpp>

#include <cstdio>
#include <string>
#include <vector>

#include "transport/commands/pingpong.hpp"

using namespace veriroce;

TEST_CASE("serve: -v names the check that refused a packet", "[commands][BTH-20]") {
    engine::Engine engine{engine::Config{}};
    const std::vector<std::byte> few(5);
    engine.handle({.envelope = {}, .bytes = few}, {});
    engine.handle({.envelope = {}, .bytes = std::vector<std::byte>(16)}, {});
    std::FILE* const out = std::tmpfile();
    REQUIRE(out != nullptr);
    commands::print_refusals(engine, out);
    commands::print_refusals(engine, out); // each is printed once
    std::rewind(out);
    std::string text;
    for (int c = std::fgetc(out); c != EOF; c = std::fgetc(out))
        text += static_cast<char>(c);
    std::fclose(out);
    CHECK(text == "refused 1: packet without a whole BTH: dropped by too-short (BTH-20)\n"
                  "refused 2: SEND_FIRST for QP 0x000000, PSN 0: dropped by unknown-qp "
                  "(BTH-02, BTH-03)\n");
}
