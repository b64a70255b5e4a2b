// The names of a case and what each stands for. A name is defined once, before its first use, and
// differs from the words of the language.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "conformance/script/cursor.hpp"

namespace veriroce::script {

enum class NameKind : std::uint8_t {
    Number, // of `let` or `for`
    Text,   // a word of `for`
    Region,
    Window,
    Qp,
    Address,
    Cq,
    Srq,
    Packet,
    Counter, // of `repeat`
};
std::string_view text_of(NameKind kind); // "a region"

struct Constant {
    std::int64_t value = 0;
    Unit unit = Unit::None;
};

struct Name {
    NameKind kind = NameKind::Number;
    // For Number: its value; nothing while the header is parsed, which keeps the name itself.
    std::optional<Constant> constant;
    std::string text;                     // of Text
    std::optional<wire::Service> service; // of Qp
};

class Scope {
  public:
    // Fails the line if the word is not a valid name or already defined. A packet's name may be
    // defined again: its line can be repeated, or appear in two alternatives.
    void define(Cursor& cursor, const Word& word, Name name);
    // Defines a name that was already checked.
    void put(std::string_view name, Name value) {
        names_.insert_or_assign(std::string(name), std::move(value));
    }
    void forget(std::string_view name) { names_.erase(std::string(name)); }

    [[nodiscard]] const Name* find(std::string_view name) const;
    [[nodiscard]] bool has(std::string_view name, NameKind kind) const;
    [[nodiscard]] std::vector<std::string_view> of_kind(NameKind kind) const;
    [[nodiscard]] std::vector<std::string_view> all() const;

    // Takes the name of something of this kind; fails the line otherwise.
    Word use(Cursor& cursor, NameKind kind) const;

  private:
    std::map<std::string, Name, std::less<>> names_;
};

} // namespace veriroce::script
