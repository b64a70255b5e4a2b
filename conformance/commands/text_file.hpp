// Files that people give to the commands and get from them, as text.
//
// Errors are one phrase that begins with the path: "missing.roce: No such file or directory".
#pragma once

#include <expected>
#include <string>
#include <variant>

namespace veriroce::commands {

std::expected<std::string, std::string> read_text(const std::string& path);

// Whole or not at all: the text grows in PATH.part, which takes the file's place when it is
// complete and is removed when it cannot be.
std::expected<std::monostate, std::string> write_text(const std::string& path,
                                                      const std::string& text);
// Whether that could be done, before what the file is to hold is known. Nothing is left of it.
std::expected<std::monostate, std::string> try_to_write(const std::string& path);

} // namespace veriroce::commands
