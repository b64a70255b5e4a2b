// The command, run in this process: its exit code and everything it wrote.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "dissector/dissect/dissect.hpp"
#include "tests/temporary_folder.hpp"

namespace veriroce::dissect::test {

struct Ran {
    int code = -1;
    std::string out;
    std::string err;
};

// A stream of C that ends as a string.
class TextStream {
  public:
    TextStream() : file_(::open_memstream(&text_, &size_)) {}
    TextStream(const TextStream&) = delete;
    TextStream& operator=(const TextStream&) = delete;
    ~TextStream() {
        std::fclose(file_);
        std::free(text_);
    }
    [[nodiscard]] std::FILE* file() const { return file_; }
    std::string text() {
        std::fflush(file_);
        return {text_, size_};
    }

  private:
    char* text_ = nullptr;
    std::size_t size_ = 0;
    std::FILE* file_;
};

inline Ran ran(const Options& options) {
    TextStream out;
    TextStream err;
    const int code = run(options, out.file(), err.file());
    return {.code = code, .out = out.text(), .err = err.text()};
}

inline std::filesystem::path source_path(std::string_view name) {
    return std::filesystem::path(VERIROCE_SOURCE_DIR) / name;
}

inline std::string pcap(std::string_view name) {
    return (source_path("pcaps") / name).string();
}

// 12 of its 370 packets have findings.
inline const std::string corrupt = pcap("rxe-write-corrupt.pcap");

inline Options fields_of(const std::string& file, std::vector<std::string> names) {
    return {.files = {file}, .format = Format::Fields, .fields = std::move(names)};
}

inline std::string text_of(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
}

inline std::vector<std::string> split(const std::string& text, char separator) {
    std::vector<std::string> parts;
    std::size_t at = 0;
    for (;;) {
        const std::size_t end = text.find(separator, at);
        parts.push_back(text.substr(at, end - at));
        if (end == std::string::npos) return parts;
        at = end + 1;
    }
}

// Without the empty piece after the last newline.
inline std::vector<std::string> lines_of(const std::string& text) {
    auto lines = split(text, '\n');
    if (!lines.empty() && lines.back().empty()) lines.pop_back();
    return lines;
}

// Rows of a tab-separated file; lines that begin with # are remarks.
inline std::vector<std::vector<std::string>> rows_of(const std::filesystem::path& path) {
    std::vector<std::vector<std::string>> rows;
    for (const std::string& line : lines_of(text_of(path))) {
        if (!line.empty() && line.front() != '#') rows.push_back(split(line, '\t'));
    }
    return rows;
}

using house::TemporaryFolder;

} // namespace veriroce::dissect::test
