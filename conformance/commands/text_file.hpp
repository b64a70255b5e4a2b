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

} // namespace veriroce::commands
