// Text that came from the other side (a device's name, an agent's message, a file's name) as text
// that is safe to print and to store: valid UTF-8 without characters that a terminal or a reader
// would obey instead of showing.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace veriroce::wire {

// How many bytes the UTF-8 character at the front of `text` has. 0 if it is not UTF-8, or is one
// that must not be shown: control characters (also 0x80 to 0x9F), line separators, the characters
// that turn the direction of writing, and what Unicode and XML exclude.
std::size_t shown_character(std::string_view text);

// Each byte that is not part of a character that may be shown becomes "\x1b", a line's end "\n", a
// tab "\t" (backslashes and letters). With `keep_lines` line ends and tabs stay as they are: for
// formats that escape them themselves.
std::string safe_text(std::string_view text, bool keep_lines = false);

// The same, but at most `most_bytes` (3 or more) of it; what is longer ends in "...".
std::string safe_excerpt(std::string_view text, std::size_t most_bytes);

} // namespace veriroce::wire
