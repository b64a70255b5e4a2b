#include "dissector/filter/filter.hpp"

#include <algorithm>

#include "dissector/filter/parser.hpp"

namespace veriroce::filter {
namespace {

// The number of UTF-8 characters, which is the column that an editor shows.
std::size_t characters(std::string_view text) {
    return static_cast<std::size_t>(std::ranges::count_if(
        text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

// The text on one line: each control character becomes one space.
std::string in_one_line(std::string_view text) {
    std::string line(text);
    std::ranges::replace_if(
        line, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; }, ' ');
    return line;
}

} // namespace

std::string text_of(const Error& error, std::string_view expression) {
    const std::size_t at = std::min(error.at, expression.size());
    const std::size_t column = characters(expression.substr(0, at));
    const std::size_t width = characters(expression.substr(at, error.length));
    return "column " + std::to_string(column + 1) + ": " + error.message + "\n    " +
           in_one_line(expression) + "\n    " + std::string(column, ' ') +
           std::string(std::max<std::size_t>(width, 1), '^');
}

std::expected<Filter, Error> Filter::compile(std::string_view expression) {
    auto program = parse(expression);
    if (!program) return std::unexpected(std::move(program.error()));
    return Filter(std::make_unique<Program>(std::move(*program)));
}

Filter::Filter(std::unique_ptr<Program> program) : program_(std::move(program)) {}
Filter::Filter(Filter&&) noexcept = default;
Filter& Filter::operator=(Filter&&) noexcept = default;
Filter::~Filter() = default;

bool Filter::matches(const decode::Dissection& dissection) const {
    return program_->matches(dissection);
}
bool Filter::needs_icrc() const {
    return program_->needs_icrc();
}
bool Filter::needs_flow() const {
    return program_->needs_flow();
}
bool Filter::names(std::string_view field) const {
    return program_->names(field);
}
std::uint64_t Filter::patterns_given_up() const {
    return program_->patterns_given_up();
}

} // namespace veriroce::filter
