// What a command wrote to a std::tmpfile().
#pragma once

#include <cstdio>
#include <string>

namespace veriroce::house {

// Reads all of it and closes the file.
inline std::string written_to(std::FILE* file) {
    std::rewind(file);
    std::string text;
    for (int c = std::fgetc(file); c != EOF; c = std::fgetc(file))
        text += static_cast<char>(c);
    std::fclose(file);
    return text;
}

} // namespace veriroce::house
