// The suite's cases as they were when the program was built: every *.roce under this folder.
// The build writes the definition (cmake/embed.cmake); the program needs no file at run time.
#pragma once

#include <span>
#include <string_view>

namespace veriroce::cases {

// A case file. `path` is relative to conformance/cases, with forward slashes and the extension
// ("rsp/gap-nak.roce"); `text` is the file's UTF-8 text, unparsed.
struct EmbeddedFile {
    std::string_view path;
    std::string_view text;

    // "rsp/gap-nak" and "rsp", as the command line names cases.
    [[nodiscard]] constexpr std::string_view id() const { return path.substr(0, path.rfind('.')); }
    [[nodiscard]] constexpr std::string_view group() const {
        return path.substr(0, path.find('/'));
    }
};

// All cases, sorted by path. They live as long as the program.
std::span<const EmbeddedFile> embedded_files();

} // namespace veriroce::cases
