#include "conformance/script/cursor.hpp"

#include <algorithm>
#include <utility>

namespace veriroce::script {

void Report::add(SourceSpan span, std::string message) {
    if (full()) return;
    const auto same = [&](const Diagnostic& d) { return d.span == span && d.message == message; };
    if (std::ranges::any_of(diagnostics_, same)) return;
    std::string source;
    if (span.line >= 1 && span.line <= lines_.size()) source = lines_[span.line - 1].text;
    // Sorted by place; at one place, in the order in which they were found.
    const auto place = [](const Diagnostic& d) { return std::pair(d.span.line, d.span.column); };
    const auto at =
        std::ranges::upper_bound(diagnostics_, std::pair(span.line, span.column), {}, place);
    diagnostics_.insert(at, {span, std::move(message), std::move(source)});
}

std::vector<Diagnostic> Report::take() {
    return std::move(diagnostics_);
}

Cursor::Cursor(const Line& line, const std::vector<Token>& tokens, Report& report)
    : line_(&line), tokens_(tokens), report_(&report) {
    end_.blank_before = true;
    const SourceSpan all = line.span();
    end_.span = {line.number, line.tokens.empty() ? 1 : all.column + all.length, 1};
    for (const Token& token : tokens_) {
        if (token.kind == Token::Kind::Bad) fail(token.span, token.text);
    }
}

const Token& Cursor::peek(std::size_t ahead) const {
    return !failed_ && at_ + ahead < tokens_.size() ? tokens_[at_ + ahead] : end_;
}

const Token& Cursor::next() {
    const Token& token = peek();
    if (token.kind != Token::Kind::End) ++at_;
    return token;
}

SourceSpan Cursor::since(const SourceSpan& first) const {
    if (at_ == 0 || at_ > tokens_.size()) return first;
    const SourceSpan& last = tokens_[at_ - 1].span;
    return {first.line, first.column, last.column + last.length - first.column};
}

bool Cursor::accept(std::string_view symbol_or_name) {
    if (!peek().is(symbol_or_name)) return false;
    ++at_;
    return true;
}

bool Cursor::joined(std::string_view symbol) const {
    return peek().is(symbol) && !peek().blank_before;
}

bool Cursor::accept_joined(std::string_view symbol) {
    return joined(symbol) && accept(symbol);
}

void Cursor::expect(std::string_view symbol, std::string_view purpose) {
    if (accept(symbol)) return;
    fail_here("expected '" + std::string(symbol) + "' " + std::string(purpose));
}

Word Cursor::word(std::string_view what) {
    if (peek().kind != Token::Kind::Name) {
        fail_here("expected " + std::string(what));
        return {};
    }
    const Token& token = next();
    return {token.text, token.span};
}

Word Cursor::raw_word(std::string_view what) {
    if (at_end()) {
        fail_here("expected " + std::string(what));
        return {};
    }
    const Token& first = next();
    Word word{first.text, first.span};
    while (!at_end() && !peek().blank_before) {
        const Token& token = next();
        word.text += token.text;
        word.span.length = token.span.column + token.span.length - word.span.column;
    }
    return word;
}

void Cursor::expect_end() {
    if (at_end()) return;
    const Token& token = peek();
    fail(token.span, "expected the end of the line, got '" + token.text + "'");
}

void Cursor::fail(SourceSpan span, std::string message) {
    if (failed_) return;
    failed_ = true;
    report_->add(span, std::move(message));
}

} // namespace veriroce::script
