// The canonical layout: two blanks of indentation per block, one blank between words, header and
// command words in a column of seven, comments in column 52 if the line leaves room. In each
// paragraph (lines without a blank line between them) the opcodes share a column, and so do the
// fields of packets that differ only in their values.
#include <algorithm>
#include <array>

#include "conformance/script/header.hpp"
#include "conformance/script/words.hpp"

namespace veriroce::script {
namespace {

constexpr std::size_t kWordColumn = 7;
constexpr std::size_t kIndentation = 2;
constexpr std::size_t kCommentColumn = 51; // characters before the #

struct Laid {
    std::uint32_t number = 0;
    std::size_t indent = 0;
    std::string head; // of a packet `b > SEND_ONLY`, of a name `let    lost`; else the whole line
    std::string tail; // of a name `= 3`, `in 0 1`; of a packet its clauses
    std::vector<std::string> fields;
    bool packet = false;
    bool named = false; // `let` and `for`
    std::string comment;

    [[nodiscard]] bool empty() const { return head.empty() && comment.empty(); }
};

// Tokens first..last as written, with one blank for one or more.
std::string written(const Line& line, std::size_t first, std::size_t last) {
    std::string text;
    for (std::size_t i = first; i < last; ++i) {
        const Token& token = line.tokens[i];
        if (i > first && token.blank_before) text += ' ';
        text += line.text.substr(token.offset, token.size);
    }
    return text;
}

// The fields of a packet, and its clauses, which are set apart from them.
void lay_fields(const Line& line, std::size_t first, Laid& laid) {
    static constexpr std::array<std::string_view, 5> clauses{"within", "after", "measure", "as",
                                                             "exact"};
    bool in_clauses = false;
    for (std::size_t i = first; i < line.tokens.size(); ++i) {
        const Token& token = line.tokens[i];
        const std::string text(line.text.substr(token.offset, token.size));
        const bool value = i + 1 < line.tokens.size() && !line.tokens[i + 1].blank_before;
        const bool clause = token.kind == Token::Kind::Name && token.blank_before && !value &&
                            contains(clauses, token.text);
        in_clauses = in_clauses || clause;
        if (in_clauses) {
            if (token.blank_before && !laid.tail.empty()) laid.tail += clause ? "  " : " ";
            laid.tail += text;
        } else if (token.blank_before || laid.fields.empty()) {
            laid.fields.push_back(text);
        } else {
            laid.fields.back() += text;
        }
    }
}

std::string padded(std::string text, std::size_t column) {
    const std::size_t columns = columns_of(text);
    if (columns < column) text.append(column - columns, ' ');
    return text;
}

// The position of `>` or `<` in a packet line; nothing for other lines.
std::optional<std::size_t> arrow(const Line& line) {
    const auto is_arrow = [](const Token& t) { return t.is(">") || t.is("<"); };
    const auto found = std::ranges::find_if(line.tokens, is_arrow);
    if (found == line.tokens.end()) return std::nullopt;
    const auto at = static_cast<std::size_t>(found - line.tokens.begin());
    const bool qp = at > 0 && (at == 1 || line.tokens[1].is("["));
    if (at != 0 && (!qp || contains(statement_words(), line.tokens[0].text))) return std::nullopt;
    return at;
}

// The position after the opcode: `> {op}` has three tokens before it, `< = first` two.
std::size_t behind_opcode(const Line& line, std::size_t arrow_at) {
    std::size_t at = arrow_at + 1;
    if (at < line.tokens.size() && line.tokens[at].is("{"))
        return std::min(at + 3, line.tokens.size());
    if (at < line.tokens.size() && line.tokens[at].is("=")) ++at;
    return std::min(at + 1, line.tokens.size());
}

void lay_header(const Line& line, Laid& laid) {
    const std::string word = padded(written(line, 0, 1), kWordColumn);
    const bool let = line.tokens[0].is("let");
    if (!let && !line.tokens[0].is("for")) {
        laid.head = word + written(line, 1, line.tokens.size());
        return;
    }
    // let NAME = …, for NAME in …: the names of adjacent lines share a column.
    laid.named = true;
    laid.head = word + written(line, 1, 2);
    laid.tail = written(line, 2, 3) + " " + written(line, 3, line.tokens.size());
}

void lay_dialogue(const Line& line, Laid& laid) {
    static constexpr std::array<std::string_view, 4> columns{"dut", "tester", "fault", "expect"};
    if (const auto at = arrow(line)) {
        const std::size_t behind = behind_opcode(line, *at);
        laid.packet = true;
        // Blanks surround the arrow even if the author left them out.
        laid.head = written(line, 0, *at) + (*at > 0 ? " " : "") + written(line, *at, *at + 1) +
                    " " + written(line, *at + 1, behind);
        lay_fields(line, behind, laid);
        return;
    }
    if (line.tokens.size() > 1 && contains(columns, line.tokens[0].text)) {
        laid.head = padded(written(line, 0, 1), kWordColumn) + written(line, 1, line.tokens.size());
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
        const bool opens = opens_block(first);
        const bool closes = first == "end" || first == "or";
        if (closes && depth > 0) --depth;
        laid.indent = depth * kIndentation;
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

// The columns of a paragraph, in characters.
struct Columns {
    std::size_t packets = 0; // where fields begin
    std::size_t names = 0;   // where `=` or `in` begins
};

// The same packet with the same fields: `psn=` `va=` under `psn=` `va=`.
bool alike(const Laid& one, const Laid& other) {
    const auto name = [](std::string_view field) { return field.substr(0, field.find('=')); };
    return one.packet && one.head == other.head &&
           std::ranges::equal(one.fields, other.fields, {}, name, name);
}

// The fields of the line, in columns if similar packets need them.
std::string fields_of(const Laid& laid, std::span<const Laid> paragraph) {
    std::string text;
    std::vector<std::size_t> widths(laid.fields.size());
    for (const Laid& other : paragraph) {
        if (!alike(laid, other)) continue;
        for (std::size_t i = 0; i + 1 < widths.size(); ++i) {
            widths[i] = std::max<std::size_t>(widths[i], columns_of(other.fields[i]));
        }
    }
    // A group uses columns if two of its lines differ.
    bool differ = false;
    for (const Laid& other : paragraph) {
        for (std::size_t i = 0; alike(laid, other) && i + 1 < widths.size(); ++i)
            differ = differ || columns_of(other.fields[i]) != widths[i];
    }
    for (std::size_t i = 0; i < laid.fields.size(); ++i) {
        if (i > 0) text += differ ? "  " : " ";
        text += differ ? padded(laid.fields[i], widths[i]) : laid.fields[i];
    }
    return text;
}

std::string code_of(const Laid& laid, const Columns& columns, std::span<const Laid> paragraph) {
    std::string text(laid.indent, ' ');
    if (!laid.packet) {
        text += laid.named ? padded(laid.head, columns.names) + laid.tail : laid.head;
        return text;
    }
    std::string rest = fields_of(laid, paragraph);
    if (!rest.empty() && !laid.tail.empty()) rest += "  ";
    rest += laid.tail;
    if (rest.empty()) return text + laid.head;
    const std::size_t own = columns_of(laid.head) + 2;
    return text + padded(laid.head, std::max<std::size_t>(own, columns.packets)) + rest;
}

Columns columns_for(std::span<const Laid> paragraph) {
    Columns columns;
    for (const Laid& laid : paragraph) {
        const std::size_t width = columns_of(laid.head);
        if (laid.packet) columns.packets = std::max(columns.packets, width + 2);
        if (laid.named) columns.names = std::max(columns.names, width + 1);
    }
    return columns;
}

std::string with_comment(std::string code, const std::string& comment) {
    if (comment.empty()) return code;
    const std::size_t behind = columns_of(code) + 2;
    const std::size_t column = std::max(behind, kCommentColumn);
    const bool fits = column + columns_of(comment) <= kMaxColumns;
    return padded(std::move(code), fits ? column : behind) + comment;
}

void lay_paragraph(std::span<const Laid> paragraph, std::string& out) {
    Columns columns = columns_for(paragraph);
    std::span<const Laid> neighbours = paragraph;
    // No columns if they would make a line too long.
    const bool too_wide = std::ranges::any_of(paragraph, [&](const Laid& laid) {
        return columns_of(code_of(laid, columns, paragraph)) > kMaxColumns;
    });
    if (too_wide) {
        columns.packets = 0;
        neighbours = {};
    }
    for (const Laid& laid : paragraph) {
        if (laid.head.empty()) {
            out += std::string(laid.indent, ' ') + laid.comment;
        } else {
            out += with_comment(code_of(laid, columns, neighbours), laid.comment);
        }
        out += '\n';
    }
}

// The lines of a file as text; an error for a line that becomes too long.
std::expected<std::string, std::vector<Diagnostic>> written_down(std::string_view text,
                                                                 const std::vector<Laid>& laid) {
    std::string out;
    std::size_t begin = 0;
    for (std::size_t i = 0; i <= laid.size(); ++i) {
        if (i < laid.size() && !laid[i].empty()) continue;
        lay_paragraph(std::span(laid).subspan(begin, i - begin), out);
        if (i < laid.size()) out += '\n';
        begin = i + 1;
    }
    const std::vector<Line> lines = lex(text);
    Report report(lines);
    std::size_t index = 0;
    for (const Line& line : lex(out)) {
        if (columns_of(line.text) > kMaxColumns) {
            report.add({laid[index].number, 1, 1},
                       "the laid-out line would be longer than 100 columns");
        }
        ++index;
    }
    if (!report.empty()) return std::unexpected(report.take());
    return out;
}

// A plan has no header and no blocks, only one rule per line.
std::vector<Laid> lay_plan(std::span<const Line> lines) {
    std::vector<Laid> result;
    for (const Line& line : lines) {
        Laid laid{.number = line.number, .comment = std::string(line.comment)};
        while (laid.comment.ends_with(' '))
            laid.comment.pop_back();
        laid.head = written(line, 0, line.tokens.size());
        const bool doubled = laid.empty() && (result.empty() || result.back().empty());
        if (!doubled) result.push_back(std::move(laid));
    }
    while (!result.empty() && result.back().empty())
        result.pop_back();
    return result;
}

} // namespace

std::expected<std::string, std::vector<Diagnostic>> format_plan(std::string_view path,
                                                                std::string_view text) {
    if (auto checked = load_injection(path, text); !checked)
        return std::unexpected(checked.error());
    return written_down(text, lay_plan(lex(text)));
}

std::expected<std::string, std::vector<Diagnostic>> format(std::string_view path,
                                                           std::string_view text) {
    if (auto checked = compile(path, text); !checked) return std::unexpected(checked.error());
    const std::vector<Line> lines = lex(text);
    Report report(lines);
    return written_down(text, lay(lines, parse_header(path, lines, report).lines));
}

} // namespace veriroce::script
