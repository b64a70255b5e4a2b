// Who may include whom: the table of CONTRIBUTING.md, and a check of a source tree against it.
//
// A line of the table is "room   rooms...; libraries". A library may be tied to one file:
// "ISA-L in icrc.cpp". `std` stands for nothing else, `every room` for all lines. What a file
// includes is followed through our own headers: what it reaches, it includes.
#pragma once

#include <expected>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace veriroce::house {

struct TableLine {
    std::set<std::string> rooms;
    std::map<std::string, std::string> libraries; // name -> the one file that may, or "" for any
};

// Keyed by room ("wire"), or by file name for a program ("main.cpp").
using Table = std::map<std::string, TableLine>;

// Path from the repository's root, with forward slashes -> text.
using Tree = std::map<std::string, std::string>;

// The text of the first fenced block after `heading` in a Markdown page; empty if there is none.
std::string fenced_block(std::string_view markdown, std::string_view heading);

// Errors: a sentence naming the line that is not understood or the room that has no line.
std::expected<Table, std::string> parse_table(std::string_view text);

// C++ sources of the rooms and main.cpp under `root`.
Tree read_sources(const std::filesystem::path& root);

// One sentence a violation, sorted by file; empty when the tree keeps the table.
// `pure` rooms may include nothing of the operating system and no std header that brings a
// clock, a thread, a file or randomness.
std::vector<std::string> include_violations(const Table& table, const std::set<std::string>& pure,
                                            const Tree& tree);

// The rooms that CMakeLists.txt links where the table says otherwise.
std::vector<std::string> build_violations(const Table& table, std::string_view cmake_lists);

} // namespace veriroce::house
