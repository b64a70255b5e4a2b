// Takes a word from a closed list, or several such words separated by commas. A word of the verbs
// is taken as its enumerator.
#pragma once

#include "conformance/script/cursor.hpp"
#include "conformance/script/words.hpp"

namespace veriroce::script {

inline Word word_of(Cursor& cursor, Words words, std::string_view what) {
    if (cursor.peek().kind != Token::Kind::Name) {
        cursor.fail_here("expected a word: " + std::string(what));
        return {};
    }
    Word word = cursor.word(what);
    if (!contains(words, word.text)) {
        cursor.fail(word.span, "unknown " + std::string(what) + " '" + word.text + "'" +
                                   suggestion(word.text, words));
    }
    return word;
}

inline std::vector<Word> words_of(Cursor& cursor, Words words, std::string_view what) {
    std::vector<Word> found{word_of(cursor, words, what)};
    while (cursor.accept_joined(","))
        found.push_back(word_of(cursor, words, what));
    return found;
}

// An enumerator of the verbs; the first one if the line is wrong.
template <wire::VerbsEnum Enum>
Enum enum_of(Cursor& cursor, std::string_view what) {
    return wire::enum_by_name<Enum>(word_of(cursor, wire::kNamesOf<Enum>, what).text)
        .value_or(Enum{});
}

inline wire::Access access_of(Cursor& cursor) {
    wire::Access access;
    for (const Word& word : words_of(cursor, access_words(), "access right")) {
        for (const wire::AccessRight& right : wire::kAccessRights)
            access.*right.member = access.*right.member || right.word == word.text;
    }
    return access;
}

} // namespace veriroce::script
