// Text put together from pieces, quickly: a format string that is parsed when it is compiled, and a
// few characters at hand before they go to the string that grows.
//
//   append(out, " QP=0x{:06x} PSN={}", qp, psn);
//
// {} for numbers and text; {:x}, {:06x} and {:#x} for unsigned numbers; {:.2f}. There are no braces
// in the text itself. Whoever needs more takes fmt.
#pragma once

#include <array>
#include <cassert>
#include <charconv>
#include <concepts>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>

namespace veriroce::print {

// A few characters, at most as many as there is room: the caller knows the bound.
template <std::size_t Room>
class Scratch {
  public:
    void put(char c) {
        assert(size_ < Room);
        text_[size_++] = c;
    }
    void put(std::string_view text) {
        assert(text.size() <= Room - size_);
        std::memcpy(&text_[size_], text.data(), text.size());
        size_ += text.size();
    }
    void spaces(std::size_t count) {
        assert(count <= Room - size_);
        std::memset(&text_[size_], ' ', count);
        size_ += count;
    }
    template <std::integral Number>
    void decimal(Number value) {
        const auto written = std::to_chars(&text_[size_], text_.data() + Room, value);
        assert(written.ec == std::errc{});
        size_ = static_cast<std::size_t>(written.ptr - text_.data());
    }
    // The last `digits` hexadecimal digits.
    void hex(std::uint64_t value, unsigned digits) {
        assert(digits <= Room - size_);
        for (unsigned i = digits; i > 0; --i)
            text_[size_++] = "0123456789abcdef"[value >> (4 * (i - 1)) & 0xF];
    }
    void fixed(double value, int decimals) {
        const auto written = std::to_chars(&text_[size_], text_.data() + Room, value,
                                           std::chars_format::fixed, decimals);
        assert(written.ec == std::errc{});
        size_ = static_cast<std::size_t>(written.ptr - text_.data());
    }
    // Where the next character goes, for who writes up to `most` there and says where it ended.
    template <typename Write>
    void written(std::size_t most, Write write) {
        assert(most <= Room - size_);
        size_ = static_cast<std::size_t>(write(&text_[size_]) - text_.data());
    }

    [[nodiscard]] std::size_t size() const { return size_; }
    [[nodiscard]] std::size_t left() const { return Room - size_; }
    [[nodiscard]] std::string_view text() const { return {text_.data(), size_}; }
    void clear() { size_ = 0; }

  private:
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-member-init): what counts is written first
    std::array<char, Room> text_;
    std::size_t size_ = 0;
};

// A pattern is small, so that handing it over costs little: the literal, and four bytes a value.
template <typename... Args>
class Pattern {
  public:
    struct Piece {
        std::uint8_t before = 0;  // characters in front of the value
        std::uint8_t written = 0; // characters from { to }
        char kind = 'd';          // as it is; 'x': hex, '#': with 0x, 'f': fixed
        std::uint8_t digits = 0;  // of 'x', 0: as many as it has; decimals of 'f'
    };

    template <std::size_t Size>
    consteval Pattern(const char (&text)[Size]) : text_(text) { // NOLINT: a literal is a pattern
        std::string_view rest(text, Size - 1);
        for (Piece& piece : pieces_) {
            const std::size_t open = rest.find('{');
            const std::size_t close = rest.find('}');
            if (open == rest.npos || close == rest.npos || close < open) throw "too few braces";
            if (close > kLongest) throw "too long";
            piece.before = static_cast<std::uint8_t>(open);
            piece.written = static_cast<std::uint8_t>(close + 1 - open);
            read(rest.substr(open + 1, close - open - 1), piece);
            rest.remove_prefix(close + 1);
        }
        if (rest.contains('{') || rest.contains('}')) throw "too many braces";
        if (rest.size() > kLongest) throw "too long";
        behind_ = static_cast<std::uint8_t>(rest.size());
    }

    [[nodiscard]] constexpr const char* text() const { return text_; }
    [[nodiscard]] constexpr const auto& pieces() const { return pieces_; }
    [[nodiscard]] constexpr std::size_t behind() const { return behind_; }

  private:
    static constexpr std::size_t kLongest = 200; // of the text between two values

    // What stands between braces.
    static consteval void read(std::string_view text, Piece& piece) {
        if (text.empty()) return;
        if (text == ":#x") {
            piece.kind = '#';
        } else if (text.starts_with(":.") && text.ends_with('f') && text.size() == 4) {
            piece.kind = 'f';
            piece.digits = static_cast<std::uint8_t>(text[2] - '0');
        } else if (text.starts_with(':') && text.ends_with('x')) {
            piece.kind = 'x';
            for (const char c : text.substr(1, text.size() - 2)) {
                if (c < '0' || c > '9') throw "not known here";
                piece.digits = static_cast<std::uint8_t>(piece.digits * 10 + (c - '0'));
            }
        } else {
            throw "not known here";
        }
    }

    const char* text_;
    std::array<Piece, sizeof...(Args)> pieces_{};
    std::uint8_t behind_ = 0;
};

// What one append gathers before it goes to the string.
using Gathered = Scratch<256>;
inline constexpr std::size_t kLongestNumber = 40;

inline void gather(std::string& out, Gathered& gathered, std::string_view text) {
    if (text.size() > gathered.left()) {
        out += gathered.text();
        gathered.clear();
    }
    if (text.size() > gathered.left()) {
        out += text;
    } else {
        gathered.put(text);
    }
}

constexpr unsigned hex_digits_of(std::uint64_t value) {
    unsigned digits = 1;
    for (; value > 0xF; value >>= 4)
        ++digits;
    return digits;
}

template <typename Piece, typename Value>
void gather_value(std::string& out, Gathered& gathered, const Piece& piece, const Value& value) {
    if constexpr (std::is_convertible_v<const Value&, std::string_view>) {
        gather(out, gathered, value);
        return;
    } else {
        if (gathered.left() < kLongestNumber) {
            out += gathered.text();
            gathered.clear();
        }
        if constexpr (std::is_floating_point_v<Value>) {
            gathered.fixed(value, piece.digits);
        } else if (piece.kind == 'd') {
            gathered.decimal(value);
        } else {
            const auto number = static_cast<std::uint64_t>(value);
            if (piece.kind == '#') gathered.put("0x");
            gathered.hex(number, piece.digits != 0 ? piece.digits : hex_digits_of(number));
        }
    }
}

template <typename... Args>
void append(std::string& out, Pattern<std::type_identity_t<Args>...> pattern, const Args&... args) {
    Gathered gathered;
    const char* text = pattern.text();
    std::size_t next = 0;
    const auto one = [&](const auto& value) {
        const auto piece = pattern.pieces()[next++];
        gather(out, gathered, {text, piece.before});
        gather_value(out, gathered, piece, value);
        text += piece.before + piece.written;
    };
    (one(args), ...);
    gather(out, gathered, {text, pattern.behind()});
    out += gathered.text();
}

// Text without a value in it.
inline void append(std::string& out, Pattern<> pattern) {
    out.append(pattern.text(), pattern.behind());
}

} // namespace veriroce::print
