#include "tests/include_check.hpp"

#include "tests/text.hpp"

#include <array>
#include <regex>
#include <utility>

namespace veriroce::house {

namespace {

struct Library {
    std::string_view name;
    std::string_view prefix;
};

constexpr std::array libraries{
    Library{"ISA-L", "isa-l"},
    Library{"x86-intrinsics", "immintrin.h"},
    Library{"libpcap", "pcap.h"},
    Library{"libpcap", "pcap/"},
    Library{"zlib", "zlib.h"},
    Library{"PCRE2", "pcre2.h"},
    Library{"zstd", "zstd"},
    Library{"SQLite", "sqlite3.h"},
    Library{"fmt", "fmt/"},
    Library{"Boost.Asio", "boost/asio"},
    Library{"Boost.JSON", "boost/json"},
    Library{"Boost.Interprocess", "boost/interprocess"},
    Library{"Boost", "boost/"},
    Library{"libtins", "tins/"},
    Library{"libibverbs", "infiniband/"},
    Library{"libxdp", "xdp/"},
    Library{"libbpf", "bpf/"},
    Library{"librdmacm", "rdma/rdma_cma"},
    Library{"yaml-cpp", "yaml-cpp/"},
    Library{"CLI11", "CLI/"},
    Library{"MPI", "mpi.h"},
    Library{"Catch2", "catch2/"},
    Library{"benchmark", "benchmark/"},
};

// What a pure room must not include though it is std.
constexpr std::array impure_std{
    "thread",     "mutex",      "shared_mutex", "condition_variable",
    "future",     "semaphore",  "random",       "fstream",
    "iostream",   "filesystem", "cstdio",       "ctime",
    "latch",      "barrier",    "stop_token",   "csignal",
    "syncstream",
};

std::string_view library_of(std::string_view header) {
    for (const auto& library : libraries) {
        if (header.starts_with(library.prefix)) return library.name;
    }
    return {};
}

// "dissector/wire/bth.hpp" -> "wire", "dissector/commands/x.cpp" -> "dissector_commands"; a file at
// the top is its own room.
std::string room_of(const std::string& path) {
    const auto folder = std::filesystem::path(path).parent_path();
    if (folder.empty()) return path;
    const std::string name = folder.filename().string();
    if (name != "commands") return name;
    return folder.parent_path().filename().string() + "_commands";
}

struct Include {
    std::string header;
    bool quoted;
};

std::vector<Include> includes_of(const std::string& text) {
    static const std::regex pattern(R"(^\s*#\s*include\s*([<"])([^>"]+)[>"])");
    std::vector<Include> found;
    for (const auto line : lines(text)) {
        if (line.find('#') == std::string_view::npos) continue; // std::regex takes long to say no
        std::cmatch match;
        if (std::regex_search(line.data(), line.data() + line.size(), match, pattern)) {
            found.push_back({match[2].str(), match[1].str() == "\""});
        }
    }
    return found;
}

// Follows one file's includes through our own headers and judges each against its room's line.
class FileCheck {
  public:
    FileCheck(const Table& table, const std::set<std::string>& pure, const Tree& tree,
              std::string file)
        : table_(table), pure_(pure), tree_(tree), file_(std::move(file)), room_(room_of(file_)) {}

    std::vector<std::string> run() {
        if (!table_.contains(room_)) {
            found_.push_back(file_ + ": the table has no line for '" + room_ + "'");
            return std::move(found_);
        }
        follow(file_, "");
        return std::move(found_);
    }

  private:
    void follow(const std::string& file, const std::string& via) {
        if (!seen_.insert(file).second) return;
        const auto above = std::exchange(current_, file);
        for (const auto& include : includes_of(tree_.at(file))) {
            if (include.quoted) {
                own(include.header, via);
            } else {
                foreign(include.header, via);
            }
        }
        current_ = above;
    }

    void own(const std::string& header, const std::string& via) {
        if (!tree_.contains(header)) {
            if (via.empty())
                say(header, via, "which is no file counted from the repository's root");
            return;
        }
        const auto room = room_of(header);
        if (room != room_ && !table_.at(room_).rooms.contains(room)) {
            say(header, via, "but the line of '" + room_ + "' does not name '" + room + "'");
            return;
        }
        follow(header, via.empty() ? "through " + header : via + ", " + header);
    }

    void foreign(const std::string& header, const std::string& via) {
        const auto library = library_of(header);
        if (library.empty()) {
            pure_only(header, via);
            return;
        }
        const auto& allowed = table_.at(room_).libraries;
        const auto entry = allowed.find(std::string(library));
        if (entry == allowed.end()) {
            say(header, via,
                "but the line of '" + room_ + "' does not name " + std::string(library));
        } else if (!entry->second.empty() &&
                   std::filesystem::path(file_).filename() != entry->second) {
            say(header, via, "which only " + entry->second + " may");
        }
    }

    void pure_only(const std::string& header, const std::string& via) {
        if (!pure_.contains(room_)) return;
        const bool std_header = header.find_first_of("./") == std::string::npos;
        const bool impure = std::ranges::find(impure_std, header) != impure_std.end();
        if (!std_header || impure) say(header, via, "but '" + room_ + "' is a pure room");
    }

    // What a header of the same room does wrong is said once, at that header.
    void say(const std::string& header, const std::string& via, const std::string& why) {
        if (current_ != file_ && room_of(current_) == room_) return;
        found_.push_back(file_ + " includes " + header + (via.empty() ? "" : " (" + via + ")") +
                         ", " + why);
    }

    const Table& table_;
    const std::set<std::string>& pure_;
    const Tree& tree_;
    std::string file_;
    std::string room_;
    std::string current_ = {}; // the file whose includes are being followed
    std::set<std::string> seen_;
    std::vector<std::string> found_;
};

std::expected<std::pair<std::string, TableLine>, std::string> parse_line(std::string_view text) {
    const auto semicolon = text.find(';');
    auto row = words(text.substr(0, semicolon));
    if (row.size() < 2) return std::unexpected("not understood: " + std::string(text));
    TableLine line{{row.begin() + 1, row.end()}, {}};
    line.rooms.erase("std");
    if (semicolon == std::string_view::npos) return std::pair{row[0], line};

    // "ISA-L in icrc.cpp", "libpcap zlib zstd": words, where `in FILE` ties the one before it.
    std::string library;
    auto rest = words(text.substr(semicolon + 1));
    for (std::size_t i = 0; i < rest.size(); ++i) {
        if (rest[i] != "in") {
            library = rest[i];
            if (library.ends_with(',')) library.pop_back();
            line.libraries[library];
        } else if (library.empty() || i + 1 == rest.size()) {
            return std::unexpected("`in` wants a library and a file: " + std::string(text));
        } else {
            line.libraries[library] = rest[++i];
        }
    }
    return std::pair{row[0], line};
}

} // namespace

std::string fenced_block(std::string_view markdown, std::string_view heading) {
    const auto at = markdown.find(heading);
    if (at == std::string_view::npos) return {};
    const auto open = markdown.find("```", at);
    if (open == std::string_view::npos) return {};
    const auto begin = markdown.find('\n', open);
    const auto end = markdown.find("\n```", begin);
    if (begin == std::string_view::npos || end == std::string_view::npos) return {};
    return std::string(markdown.substr(begin + 1, end - begin));
}

std::expected<Table, std::string> parse_table(std::string_view text) {
    Table table;
    for (const auto line : lines(text)) {
        if (words(line).empty()) continue;
        auto row = parse_line(line);
        if (!row) return std::unexpected(row.error());
        if (!table.insert(*row).second) return std::unexpected("two lines for " + row->first);
    }
    for (auto& [name, line] : table) {
        if (line.rooms == std::set<std::string>{"every", "room"}) {
            line.rooms.clear();
            for (const auto& other : table)
                line.rooms.insert(other.first);
        }
        for (const auto& room : line.rooms) {
            if (!table.contains(room)) {
                return std::unexpected(name + " names '" + room + "', which has no line");
            }
        }
    }
    return table;
}

Tree read_sources(const std::filesystem::path& root) {
    Tree tree;
    for (const auto* top : {"dissector", "transport", "conformance", "reports"}) {
        for (const auto& file : files_under(root / top)) {
            const auto extension = file.extension();
            if (extension != ".cpp" && extension != ".hpp") continue;
            tree[file.lexically_relative(root).generic_string()] = read_text(file);
        }
    }
    if (std::filesystem::exists(root / "main.cpp")) tree["main.cpp"] = read_text(root / "main.cpp");
    return tree;
}

std::vector<std::string> include_violations(const Table& table, const std::set<std::string>& pure,
                                            const Tree& tree) {
    std::vector<std::string> found;
    for (const auto& source : tree) {
        for (auto& sentence : FileCheck(table, pure, tree, source.first).run()) {
            found.push_back(std::move(sentence));
        }
    }
    return found;
}

std::vector<std::string> build_violations(const Table& table, std::string_view cmake_lists) {
    static const std::regex pattern(R"(\broom\(([a-z_]+)\s+[^\s)]+([^)]*)\))");
    std::vector<std::string> found;
    std::set<std::string> built;
    const std::string text(cmake_lists);
    for (std::sregex_iterator match(text.begin(), text.end(), pattern), end; match != end;
         ++match) {
        const auto name = (*match)[1].str();
        std::set<std::string> uses;
        bool in_uses = false;
        for (const auto& word : words((*match)[2].str())) {
            if (word == "USES" || word == "LIBS" || word == "GENERATED") {
                in_uses = word == "USES";
            } else if (in_uses) {
                uses.insert(word);
            }
        }
        built.insert(name);
        const auto line = table.find(name);
        if (line == table.end()) {
            found.push_back("CMakeLists.txt builds '" + name + "', which has no line in the table");
        } else if (uses != line->second.rooms) {
            found.push_back("CMakeLists.txt links '" + name + "' otherwise than the table says");
        }
    }
    for (const auto& line : table) {
        const bool program = line.first.ends_with(".cpp");
        if (!program && !built.contains(line.first)) {
            found.push_back("CMakeLists.txt does not build '" + line.first + "'");
        }
    }
    return found;
}

} // namespace veriroce::house
