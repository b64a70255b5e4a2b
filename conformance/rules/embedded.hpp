// The rule catalogue as it was when the program was built: the text of catalogue.tsv.
// The build writes the definition (cmake/embed.cmake); the program needs no file at run time.
#pragma once

#include <string_view>

namespace veriroce::rules {

// The whole file, UTF-8, unparsed. Lives as long as the program.
std::string_view embedded_catalogue();

} // namespace veriroce::rules
