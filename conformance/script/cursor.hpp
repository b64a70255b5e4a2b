// Reads the tokens of one line. The first error of a line is reported and ends the line: from then
// on the cursor behaves as at the end of the line, so parsers need not check after each step.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "conformance/script/lexer.hpp"
#include "conformance/script/script.hpp"
#include "dissector/wire/nearest_word.hpp"

namespace veriroce::script {

// The errors found in a script so far. The same error at the same place is reported once, even if
// several runs show it.
class Report {
  public:
    explicit Report(std::span<const Line> lines) : lines_(lines) {}

    void add(SourceSpan span, std::string message);
    [[nodiscard]] bool empty() const { return diagnostics_.empty(); }
    [[nodiscard]] bool full() const { return diagnostics_.size() >= max_diagnostics; }
    // Sorted by place.
    [[nodiscard]] std::vector<Diagnostic> take();

    static constexpr std::size_t max_diagnostics = 50;

  private:
    std::span<const Line> lines_;
    std::vector<Diagnostic> diagnostics_;
};

// "; did you mean 'psn'?", or nothing.
template <wire::WordRange Range>
std::string suggestion(std::string_view word, Range&& candidates) {
    const auto near = wire::nearest_word(word, candidates);
    return near ? "; did you mean '" + std::string(*near) + "'?" : std::string{};
}

class Cursor {
  public:
    // The tokens must outlive the cursor.
    Cursor(const Line& line, const std::vector<Token>& tokens, Report& report);
    Cursor(const Line&, std::vector<Token>&&, Report&) = delete;

    [[nodiscard]] const Line& line() const { return *line_; }
    [[nodiscard]] bool failed() const { return failed_; }
    [[nodiscard]] bool at_end() const { return peek().kind == Token::Kind::End; }

    // The token `ahead` positions after the next one; End after the last.
    [[nodiscard]] const Token& peek(std::size_t ahead = 0) const;
    const Token& next();
    // From this place to the end of the token taken last.
    [[nodiscard]] SourceSpan since(const SourceSpan& first) const;
    // Takes the next token if it is this symbol or word.
    bool accept(std::string_view symbol_or_name);
    // The same without a blank before it.
    bool accept_joined(std::string_view symbol);
    [[nodiscard]] bool joined(std::string_view symbol) const;
    void expect(std::string_view symbol, std::string_view purpose);
    // Takes a name; reports what was expected if there is none.
    Word word(std::string_view what);
    // Everything up to the next blank: a rule id, a tag.
    Word raw_word(std::string_view what);
    void expect_end();

    void fail(SourceSpan span, std::string message);
    // At the next token, or after the last.
    void fail_here(std::string message) { fail(peek().span, std::move(message)); }

  private:
    const Line* line_;
    std::span<const Token> tokens_;
    Token end_;
    std::size_t at_ = 0;
    bool failed_ = false;
    Report* report_;
};

} // namespace veriroce::script
