// NAME=VALUE… at the end of a line: each at most once, in any order. An unknown name is an error
// with a suggestion.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <new>
#include <span>
#include <string_view>
#include <type_traits>

#include "conformance/script/cursor.hpp"

namespace veriroce::script {

// What a lambda of references does, kept in place: a line has up to thirty options and takes a few.
class OptionParser {
  public:
    template <typename Function>
        requires(!std::is_same_v<std::remove_cvref_t<Function>, OptionParser>)
    OptionParser(Function function)
        : call_([](const std::byte* kept) {
              (*std::launder(reinterpret_cast<const Function*>(kept)))();
          }) {
        static_assert(std::is_trivially_copyable_v<Function> && sizeof(Function) <= kBytes);
        new (kept_) Function(function);
    }
    void operator()() const { call_(kept_); }

  private:
    static constexpr std::size_t kBytes = 40;
    alignas(std::max_align_t) std::byte kept_[kBytes];
    void (*call_)(const std::byte*);
};

struct Option {
    enum class Form : std::uint8_t { Equals, Flag, Clause }; // name=…, name, name …
    std::string_view name;
    Form form = Form::Equals;
    bool required = false;
    OptionParser parse; // takes the value, or sets the flag
};

// Reads options up to the end of the line. `what` names the line's subject in messages: "dut mr".
void parse_option_list(Cursor& cursor, std::string_view what, std::span<const Option> options);
inline void parse_options(Cursor& cursor, std::string_view what,
                          std::initializer_list<Option> options) {
    parse_option_list(cursor, what, {options.begin(), options.size()});
}

// Takes `=` without blanks around it, after a name that was just read.
bool take_equals(Cursor& cursor, const Word& name);

} // namespace veriroce::script
