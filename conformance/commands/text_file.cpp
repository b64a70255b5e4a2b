#include "conformance/commands/text_file.hpp"

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>

namespace veriroce::commands {
namespace {

struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, Close>;

std::string growing_name(const std::string& path) {
    return path + ".part";
}

std::unexpected<std::string> failed(const std::string& path, int number) {
    return std::unexpected(path + ": " + std::strerror(number));
}

} // namespace

std::expected<std::string, std::string> read_text(const std::string& path) {
    const File file(std::fopen(path.c_str(), "rb"));
    if (!file) return failed(path, errno);
    std::string text;
    std::array<char, 65536> chunk{};
    for (;;) {
        const std::size_t count = std::fread(chunk.data(), 1, chunk.size(), file.get());
        text.append(chunk.data(), count);
        if (count == chunk.size()) continue;
        if (std::ferror(file.get()) != 0) return failed(path, errno);
        return text;
    }
}

std::expected<std::monostate, std::string> try_to_write(const std::string& path) {
    const std::string growing = growing_name(path);
    if (const File file{std::fopen(growing.c_str(), "wb")}; !file) return failed(path, errno);
    std::error_code ignored;
    std::filesystem::remove(growing, ignored);
    return {};
}

std::expected<std::monostate, std::string> write_text(const std::string& path,
                                                      const std::string& text) {
    const std::string growing = growing_name(path);
    File file(std::fopen(growing.c_str(), "wb"));
    if (!file) return failed(path, errno);
    const bool written = std::fwrite(text.data(), 1, text.size(), file.get()) == text.size() &&
                         std::fflush(file.get()) == 0;
    int number = written ? 0 : errno;
    file.reset();
    if (written && std::rename(growing.c_str(), path.c_str()) != 0) number = errno;
    if (number != 0) {
        std::error_code ignored;
        std::filesystem::remove(growing, ignored);
        return failed(path, number);
    }
    return {};
}

} // namespace veriroce::commands
