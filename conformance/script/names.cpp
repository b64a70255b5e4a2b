#include "conformance/script/names.hpp"

#include <algorithm>
#include <array>

#include "conformance/script/words.hpp"

namespace veriroce::script {
namespace {

constexpr std::array<std::string_view, 11> kBuiltIn{"mtu",  "dut",   "tester",   "unused",
                                                    "abs",  "rnr",   "timeout",  "send",
                                                    "recv", "small", "untouched"};

bool name_like(std::string_view text) {
    return std::ranges::all_of(
        text, [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_'; });
}

} // namespace

std::string_view text_of(NameKind kind) {
    switch (kind) {
    case NameKind::Number: return "a number";
    case NameKind::Text: return "a word";
    case NameKind::Region: return "a region";
    case NameKind::Window: return "a memory window";
    case NameKind::Qp: return "a QP";
    case NameKind::Address: return "an address";
    case NameKind::Cq: return "a completion queue";
    case NameKind::Srq: return "a shared receive queue";
    case NameKind::Packet: return "a packet";
    case NameKind::Counter: return "a counter";
    }
    return "";
}

void Scope::define(Cursor& cursor, const Word& word, Name name) {
    if (cursor.failed()) return;
    const auto quoted = [&] { return "'" + word.text + "'"; };
    if (readable_field(word.text)) {
        return cursor.fail(word.span, quoted() + " is the name of a field; choose another name");
    }
    if (contains(kBuiltIn, word.text) || contains(statement_words(), word.text) ||
        contains(header_words(), word.text) || contains(wire::kNamesOf<PatternKind>, word.text)) {
        return cursor.fail(word.span, quoted() + " is a word of the language; choose another name");
    }
    if (!name_like(word.text)) {
        return cursor.fail(word.span, quoted() + " is not a valid name: use a-z, 0-9 and _");
    }
    const Name* known = find(word.text);
    if (known != nullptr && (known->kind != name.kind || name.kind != NameKind::Packet)) {
        return cursor.fail(word.span,
                           quoted() + " is already " + std::string(text_of(known->kind)));
    }
    names_.insert_or_assign(word.text, std::move(name));
}

const Name* Scope::find(std::string_view name) const {
    const auto found = names_.find(name);
    return found == names_.end() ? nullptr : &found->second;
}

bool Scope::has(std::string_view name, NameKind kind) const {
    const Name* found = find(name);
    return found != nullptr && found->kind == kind;
}

std::vector<std::string_view> Scope::of_kind(NameKind kind) const {
    std::vector<std::string_view> found;
    for (const auto& [text, name] : names_) {
        if (name.kind == kind) found.emplace_back(text);
    }
    return found;
}

std::vector<std::string_view> Scope::all() const {
    std::vector<std::string_view> found;
    for (const auto& [text, name] : names_)
        found.emplace_back(text);
    return found;
}

Word Scope::use(Cursor& cursor, NameKind kind) const {
    const Word word = cursor.word(text_of(kind));
    if (cursor.failed() || has(word.text, kind)) return word;
    const std::string what(text_of(kind));
    if (const Name* known = find(word.text)) {
        cursor.fail(word.span, "'" + word.text + "' is " + std::string(text_of(known->kind)) +
                                   ", not " + what);
    } else {
        cursor.fail(word.span, "no " + what.substr(what.find(' ') + 1) + " '" + word.text +
                                   "' is defined before this line" +
                                   suggestion(word.text, of_kind(kind)));
    }
    return word;
}

} // namespace veriroce::script
