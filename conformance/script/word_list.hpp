// Takes a word from a closed list, or several such words separated by commas.
#pragma once

#include "conformance/script/cursor.hpp"
#include "conformance/script/words.hpp"

namespace veriroce::script {

inline Word word_of(Cursor& cursor, Words words, std::string_view what) {
    const std::string name(what);
    const Word word = cursor.word("a word: " + name);
    if (!cursor.failed() && !contains(words, word.text)) {
        cursor.fail(word.span,
                    "unknown " + name + " '" + word.text + "'" + suggestion(word.text, words));
    }
    return word;
}

inline std::vector<Word> words_of(Cursor& cursor, Words words, std::string_view what) {
    std::vector<Word> found{word_of(cursor, words, what)};
    while (cursor.accept_joined(","))
        found.push_back(word_of(cursor, words, what));
    return found;
}

} // namespace veriroce::script
