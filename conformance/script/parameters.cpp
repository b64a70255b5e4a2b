// Parameters: values from outside for `let` and `for` lines.
#include <algorithm>

#include "conformance/script/lexer.hpp"
#include "conformance/script/script.hpp"

namespace veriroce::script {
namespace {

// `let NAME = …`, `for NAME in …`
bool defines(const Line& line) {
    if (line.tokens.size() < 3 || line.tokens[1].kind != Token::Kind::Name) return false;
    return (line.tokens[0].is("let") && line.tokens[2].is("=")) ||
           (line.tokens[0].is("for") && line.tokens[2].is("in"));
}

// The lines up to the blank line after the header.
std::size_t header_lines(const std::vector<Line>& lines) {
    const auto written = [](const Line& line) { return !line.tokens.empty(); };
    const auto first = std::ranges::find_if(lines, written);
    const auto end =
        std::find_if(first, lines.end(), [](const Line& line) { return line.blank(); });
    return static_cast<std::size_t>(end - lines.begin());
}

} // namespace

WithParameters with_parameters(std::string_view text, const std::vector<Parameter>& parameters) {
    WithParameters result;
    const std::vector<Line> lines = lex(text);
    const std::size_t header = header_lines(lines);
    for (std::size_t i = 0; i < lines.size(); ++i) {
        const Line& line = lines[i];
        std::string written(line.text);
        if (i < header && defines(line)) {
            const auto given =
                std::find_if(parameters.rbegin(), parameters.rend(),
                             [&](const Parameter& one) { return one.name == line.tokens[1].text; });
            if (given != parameters.rend()) {
                written.resize(line.tokens[2].offset + line.tokens[2].size);
                written += ' ' + given->value;
                result.used.push_back(given->name);
            }
        }
        result.text += written + '\n';
    }
    return result;
}

std::vector<std::string> parameter_names(std::string_view text) {
    std::vector<std::string> names;
    const std::vector<Line> lines = lex(text);
    for (std::size_t i = 0; i < header_lines(lines); ++i) {
        if (defines(lines[i])) names.push_back(lines[i].tokens[1].text);
    }
    return names;
}

std::expected<Parameter, std::string> parse_parameter(std::string_view text) {
    const std::size_t equals = text.find('=');
    if (equals == std::string_view::npos || equals == 0) {
        return std::unexpected("'" + std::string(text) + "' is not NAME=VALUE");
    }
    const std::string_view value = text.substr(equals + 1);
    if (value.empty()) return std::unexpected("'" + std::string(text) + "' has no value");
    if (value.find_first_of("\r\n#") != std::string_view::npos) {
        return std::unexpected("a value must be one line without a comment");
    }
    return Parameter{std::string(text.substr(0, equals)), std::string(value)};
}

} // namespace veriroce::script
