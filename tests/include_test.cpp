// The include table of CONTRIBUTING.md holds for the real tree, and the check itself can fail.
#include "tests/include_check.hpp"
#include "tests/text.hpp"

#include <catch2/catch.hpp>

namespace {

using veriroce::house::build_violations;
using veriroce::house::fenced_block;
using veriroce::house::include_violations;
using veriroce::house::parse_table;
using veriroce::house::Table;
using veriroce::house::Tree;

Table made_up_table() {
    auto table = parse_table("wire      std; ISA-L in icrc.cpp\n"
                             "engine    wire\n"
                             "net       wire; Boost.Asio, libtins\n"
                             "judge     wire\n"
                             "transport_commands wire engine\n"
                             "main.cpp  every room; CLI11\n");
    REQUIRE(table.has_value());
    return *table;
}

Tree made_up_tree() {
    return {
        {"dissector/wire/icrc.cpp",
         "#include \"dissector/wire/icrc.hpp\"\n#include <isa-l/crc.h>\n"},
        {"dissector/wire/icrc.hpp", "#include <span>\n"},
        {"transport/engine/qp.hpp", "#include \"dissector/wire/icrc.hpp\"\n"},
        {"transport/net/udp.hpp", "#include <cstdint>\n"},
        {"transport/net/udp.cpp", "#include <boost/asio.hpp>\n#include <sys/socket.h>\n"},
        {"main.cpp", "#include \"transport/net/udp.hpp\"\n#include <CLI/CLI.hpp>\n"},
    };
}

std::vector<std::string> check_with(const std::string& path, const std::string& text) {
    auto tree = made_up_tree();
    tree[path] += text;
    return include_violations(made_up_table(), {"wire", "engine", "judge"}, tree);
}

} // namespace

TEST_CASE("include check: a tree that keeps the table has no violations", "[house]") {
    CHECK(check_with("transport/engine/qp.cpp", "#include <vector>\n").empty());
}

TEST_CASE("include check: a room that the line does not name is a violation", "[house]") {
    const auto found =
        check_with("conformance/judge/a.cpp", "#include \"transport/engine/qp.hpp\"\n");
    REQUIRE(found.size() == 1);
    CHECK(found[0] == "conformance/judge/a.cpp includes transport/engine/qp.hpp, "
                      "but the line of 'judge' does not name 'engine'");
}

TEST_CASE("include check: a room reached through another room's header is a violation", "[house]") {
    auto tree = made_up_tree();
    tree["transport/net/udp.hpp"] += "#include <boost/asio.hpp>\n";
    const auto found = include_violations(made_up_table(), {}, tree);
    REQUIRE(found.size() == 1); // net itself may; main.cpp reaches it and may not
    CHECK(found[0] == "main.cpp includes boost/asio.hpp (through transport/net/udp.hpp), "
                      "but the line of 'main.cpp' does not name Boost.Asio");
}

TEST_CASE("include check: what a room's own header does wrong is said once", "[house]") {
    auto tree = made_up_tree();
    tree["conformance/judge/a.hpp"] = "#include \"transport/engine/qp.hpp\"\n#include \"no.hpp\"\n";
    tree["conformance/judge/a.cpp"] = "#include \"conformance/judge/a.hpp\"\n";
    const auto found = include_violations(made_up_table(), {}, tree);
    REQUIRE(found.size() == 2);
    CHECK(found[0].starts_with("conformance/judge/a.hpp includes transport/engine/qp.hpp"));
    CHECK(found[1].starts_with("conformance/judge/a.hpp includes no.hpp"));
}

TEST_CASE("include check: a library tied to one file is a violation in another", "[house]") {
    const auto found = check_with("dissector/wire/bth.cpp", "  #  include <isa-l/crc.h>\n");
    REQUIRE(found.size() == 1);
    CHECK(found[0].find("which only icrc.cpp may") != std::string::npos);
}

TEST_CASE("include check: a library that the line does not name is a violation", "[house]") {
    CHECK(check_with("transport/net/x.cpp", "#include <tins/arp.h>\n").empty());
    CHECK(check_with("transport/net/x.cpp", "#include <pcap.h>\n").size() == 1);
    CHECK(check_with("transport/net/x.cpp", "#include <boost/json.hpp>\n").size() == 1);
}

TEST_CASE("include check: a pure room includes no clock, thread or system header", "[house]") {
    CHECK(check_with("transport/engine/a.cpp", "#include <thread>\n").size() == 1);
    CHECK(check_with("transport/engine/a.cpp", "#include <unistd.h>\n").size() == 1);
    CHECK(check_with("transport/engine/a.cpp", "#include <sys/socket.h>\n").size() == 1);
    CHECK(check_with("transport/engine/a.cpp", "#include <chrono>\n").empty());
}

TEST_CASE("include check: includes count from the root and rooms need a line", "[house]") {
    CHECK(check_with("transport/engine/a.cpp", "#include \"qp.hpp\"\n").size() == 1);
    CHECK(check_with("transport/other/a.cpp", "").size() == 1);
}

TEST_CASE("include check: the commands of each product are a room of their own", "[house]") {
    const std::string engine = "#include \"transport/engine/qp.hpp\"\n";
    CHECK(check_with("transport/commands/a.cpp", engine).empty());
    CHECK(check_with("transport/commands/a.cpp", "#include <tins/arp.h>\n").size() == 1);
    CHECK(check_with("dissector/commands/a.cpp", "").size() == 1); // no line for it
    const auto table = parse_table("wire std\nproduct_commands wire\n");
    REQUIRE(table.has_value());
    const std::string build = "room(wire a)\nroom(product_commands b";
    CHECK(build_violations(*table, build + " USES wire)\n").empty());
    CHECK(build_violations(*table, build + ")\n").size() == 1);
}

TEST_CASE("include check: a table that cannot be meant is refused", "[house]") {
    CHECK_FALSE(parse_table("wire\n").has_value());
    CHECK_FALSE(parse_table("wire std\nwire std\n").has_value());
    CHECK_FALSE(parse_table("decode wire\n").has_value());
    CHECK_FALSE(parse_table("wire std; ISA-L in\n").has_value());
}

TEST_CASE("include check: the build links what the table names", "[house]") {
    const auto table = parse_table("wire std\nengine wire\n");
    REQUIRE(table.has_value());
    CHECK(build_violations(*table, "room(wire a LIBS x)\nroom(engine b USES wire)\n").empty());
    CHECK(build_violations(*table, "room(wire a)\nroom(engine b)\n").size() == 1);
    CHECK(build_violations(*table, "room(wire a)\n").size() == 1);
    CHECK(build_violations(*table, "room(wire a)\nroom(engine b USES wire)\nroom(x c)").size() ==
          1);
}

TEST_CASE("house: every include keeps the table of CONTRIBUTING.md", "[house]") {
    const std::filesystem::path root = VERIROCE_SOURCE_DIR;
    const auto page = veriroce::house::read_text(root / "CONTRIBUTING.md");
    const auto table = parse_table(fenced_block(page, "## Who may include whom"));
    REQUIRE(table.has_value());
    REQUIRE(table->contains("wire"));
    const auto pure_rooms = veriroce::house::words(fenced_block(page, "### Pure rooms"));
    REQUIRE_FALSE(pure_rooms.empty());

    const auto tree = veriroce::house::read_sources(root);
    REQUIRE_FALSE(tree.empty());
    for (const auto& sentence :
         include_violations(*table, {pure_rooms.begin(), pure_rooms.end()}, tree)) {
        FAIL_CHECK(sentence);
    }
    const auto cmake_lists = veriroce::house::read_text(root / "CMakeLists.txt");
    for (const auto& sentence : build_violations(*table, cmake_lists))
        FAIL_CHECK(sentence);
}
