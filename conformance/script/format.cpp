// The canonical layout: two blanks of indentation a block, one blank between words, header and
// command words in a column of seven, and in each paragraph (lines without a blank one between
// them) the opcodes in one column and the comments in another.
#include <algorithm>
#include <array>

#include "conformance/script/header.hpp"
#include "conformance/script/words.hpp"

namespace veriroce::script {
namespace {

constexpr std::size_t word_column = 7;
constexpr std::size_t indentation = 2;

struct Laid {
    std::uint32_t number = 0;
    std::size_t indent = 0;
    std::string head; // `b > SEND_ONLY` of a packet, `let    lost` of a name; else all of it
    std::string tail;
    bool packet = false;
    bool named = false; // `let` and `for`
    std::string comment;

    [[nodiscard]] bool empty() const { return head.empty() && comment.empty(); }
};

// Tokens first..last as they were written, one blank where there was one or more.
std::string written(const Line& line, std::size_t first, std::size_t last) {
    std::string text;
    for (std::size_t i = first; i < last; ++i) {
        const Token& token = line.tokens[i];
        if (i > first && token.blank_before) text += ' ';
        text += line.text.substr(token.offset, token.size);
    }
    return text;
}

// Clauses of a packet stand apart from its fields.
std::string fields_and_clauses(const Line& line, std::size_t first) {
    static constexpr std::array<std::string_view, 5> clauses{"within", "after", "measure", "as",
                                                             "exact"};
    std::string text;
    for (std::size_t i = first; i < line.tokens.size(); ++i) {
        const Token& token = line.tokens[i];
        const bool value = i + 1 < line.tokens.size() && !line.tokens[i + 1].blank_before;
        const bool clause = token.kind == Token::Kind::Name && token.blank_before && !value &&
                            contains(clauses, token.text);
        if (i > first && token.blank_before) text += clause ? "  " : " ";
        text += line.text.substr(token.offset, token.size);
    }
    return text;
}

std::string padded(std::string text, std::size_t column) {
    const std::size_t columns = columns_of(text);
    if (columns < column) text.append(column - columns, ' ');
    return text;
}

// The `>` or `<` of a packet line; nothing for other lines.
std::optional<std::size_t> arrow(const Line& line) {
    const auto is_arrow = [](const Token& t) { return t.is(">") || t.is("<"); };
    const auto found = std::ranges::find_if(line.tokens, is_arrow);
    if (found == line.tokens.end()) return std::nullopt;
    const auto at = static_cast<std::size_t>(found - line.tokens.begin());
    const bool qp = at > 0 && (at == 1 || line.tokens[1].is("["));
    if (at != 0 && (!qp || contains(statement_words(), line.tokens[0].text))) return std::nullopt;
    return at;
}

// Behind the opcode: `> {op}` has three tokens there, `< = first` two.
std::size_t behind_opcode(const Line& line, std::size_t arrow_at) {
    std::size_t at = arrow_at + 1;
    if (at < line.tokens.size() && line.tokens[at].is("{"))
        return std::min(at + 3, line.tokens.size());
    if (at < line.tokens.size() && line.tokens[at].is("=")) ++at;
    return std::min(at + 1, line.tokens.size());
}

void lay_header(const Line& line, Laid& laid) {
    const std::string word = padded(written(line, 0, 1), word_column);
    const bool let = line.tokens[0].is("let");
    if (!let && !line.tokens[0].is("for")) {
        laid.head = word + written(line, 1, line.tokens.size());
        return;
    }
    // let NAME = …, for NAME in …: the names of neighbours share a column.
    laid.named = true;
    laid.head = word + written(line, 1, 2);
    laid.tail = written(line, 2, 3) + " " + written(line, 3, line.tokens.size());
}

void lay_dialogue(const Line& line, Laid& laid) {
    static constexpr std::array<std::string_view, 4> columns{"dut", "tester", "fault", "expect"};
    if (const auto at = arrow(line)) {
        const std::size_t behind = behind_opcode(line, *at);
        laid.packet = true;
        // The arrow stands apart even if it was not written so.
        laid.head = written(line, 0, *at) + (*at > 0 ? " " : "") + written(line, *at, *at + 1) +
                    " " + written(line, *at + 1, behind);
        laid.tail = fields_and_clauses(line, behind);
        return;
    }
    if (line.tokens.size() > 1 && contains(columns, line.tokens[0].text)) {
        laid.head = padded(written(line, 0, 1), word_column) + written(line, 1, line.tokens.size());
        return;
    }
    laid.head = written(line, 0, line.tokens.size());
}

std::vector<Laid> lay(std::span<const Line> lines, std::size_t header_lines) {
    std::vector<Laid> result;
    std::size_t depth = 0;
    for (std::size_t i = 0; i < lines.size(); ++i) {
        const Line& line = lines[i];
        Laid laid{.number = line.number, .comment = std::string(line.comment)};
        while (laid.comment.ends_with(' '))
            laid.comment.pop_back();
        const std::string first = line.tokens.empty() ? "" : line.tokens[0].text;
        const bool opens = first == "any" || first == "unordered" || first == "repeat";
        const bool closes = first == "end" || first == "or";
        if (closes && depth > 0) --depth;
        laid.indent = depth * indentation;
        if (!line.tokens.empty()) {
            i < header_lines ? lay_header(line, laid) : lay_dialogue(line, laid);
        }
        if (i >= header_lines && (opens || first == "or")) ++depth;
        const bool doubled = laid.empty() && (result.empty() || result.back().empty());
        if (!doubled) result.push_back(std::move(laid));
    }
    while (!result.empty() && result.back().empty())
        result.pop_back();
    return result;
}

std::size_t width(const Laid& laid) {
    return columns_of(laid.head);
}

std::string code_of(const Laid& laid, std::size_t column) {
    std::string text(laid.indent, ' ');
    text += laid.tail.empty() ? laid.head : padded(laid.head, column) + laid.tail;
    return text;
}

// The column behind the widest head of the lines that share it.
template <typename Shares>
std::size_t shared_column(std::span<const Laid> lines, std::size_t gap, Shares shares) {
    std::size_t column = 0;
    for (const Laid& laid : lines) {
        if (shares(laid)) column = std::max(column, width(laid) + gap);
    }
    return column;
}

std::size_t column_of(const Laid& laid, std::size_t packets, std::size_t names) {
    if (laid.packet) return packets;
    return laid.named ? names : 0;
}

void paragraph(std::span<const Laid> lines, std::string& out) {
    std::size_t packets = shared_column(lines, 2, [](const Laid& l) { return l.packet; });
    const std::size_t names = shared_column(lines, 1, [](const Laid& l) { return l.named; });
    // A column that pushes a line beyond the edge is no help to a reader.
    const bool too_wide = std::ranges::any_of(lines, [&](const Laid& laid) {
        return columns_of(code_of(laid, column_of(laid, packets, names))) > max_columns;
    });
    std::size_t comments = 0;
    std::vector<std::string> codes;
    for (const Laid& laid : lines) {
        const std::size_t column =
            laid.packet && too_wide ? width(laid) + 2 : column_of(laid, packets, names);
        codes.push_back(laid.head.empty() ? "" : code_of(laid, column));
        if (!laid.head.empty() && !laid.comment.empty()) {
            comments = std::max<std::size_t>(comments, columns_of(codes.back()) + 2);
        }
    }
    for (std::size_t i = 0; i < lines.size(); ++i) {
        const std::string& comment = lines[i].comment;
        if (codes[i].empty()) {
            out += std::string(lines[i].indent, ' ') + comment;
        } else if (comment.empty()) {
            out += codes[i];
        } else {
            const bool fits = comments + columns_of(comment) <= max_columns;
            out += padded(codes[i], fits ? comments : columns_of(codes[i]) + 2) + comment;
        }
        out += '\n';
    }
}

} // namespace

std::expected<std::string, std::vector<Diagnostic>> format(std::string_view path,
                                                           std::string_view text) {
    if (auto checked = load(path, text); !checked) return std::unexpected(checked.error());
    const std::vector<Line> lines = lex(text);
    Report report(lines);
    const std::vector<Laid> laid = lay(lines, parse_header(path, lines, report).lines);
    std::string out;
    std::size_t begin = 0;
    for (std::size_t i = 0; i <= laid.size(); ++i) {
        if (i < laid.size() && !laid[i].empty()) continue;
        paragraph(std::span(laid).subspan(begin, i - begin), out);
        if (i < laid.size()) out += '\n';
        begin = i + 1;
    }
    std::size_t index = 0;
    for (const Line& line : lex(out)) {
        if (columns_of(line.text) > max_columns) {
            report.add({laid[index].number, 1, 1},
                       "laid out, this line would be longer than 100 columns");
        }
        ++index;
    }
    if (!report.empty()) return std::unexpected(report.take());
    return out;
}

} // namespace veriroce::script
