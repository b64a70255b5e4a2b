// Fast text formatting: format strings are parsed at compile time, and characters are collected in
// a small buffer before they are appended to the string.
//
//   append<" QP=0x{:06x} PSN={}">(out, qp, psn);
//
// {} for numbers and text; {:x}, {:06x} and {:#x} for unsigned numbers; {:.2f}. The text itself
// cannot contain braces. Use fmt for anything else.
#pragma once

#include <algorithm>
#include <array>
#include <cassert>
#include <charconv>
#include <concepts>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace veriroce::print {

// A small buffer. The caller guarantees that the text fits.
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
    // The lowest `digits` hexadecimal digits.
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
    // Lets `write` write up to `most` characters directly; it returns where they end.
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

// A pattern as a template argument, so that its text is known at compile time.
template <std::size_t Size>
struct Pattern {
    std::array<char, Size> text{};
    consteval Pattern(const char (&literal)[Size]) { // NOLINT: implicit; a literal is a pattern
        std::copy_n(literal, Size, text.begin());
    }
    [[nodiscard]] constexpr std::string_view view() const { return {text.data(), Size - 1}; }
};

// One replacement field of a pattern.
struct Piece {
    std::size_t before = 0;  // characters of text between the previous field and this one
    std::size_t written = 0; // characters from { to }
    char kind = 'd';         // 'd': default, 'x': hex, '#': hex with 0x, 'f': fixed
    unsigned digits = 0;     // for 'x': digits, 0 for as many as needed; for 'f': decimals
};

// Parses the text between braces.
consteval void read_piece(std::string_view text, Piece& piece) {
    if (text.empty()) return;
    if (text == ":#x") {
        piece.kind = '#';
    } else if (text.starts_with(":.") && text.ends_with('f') && text.size() == 4) {
        piece.kind = 'f';
        piece.digits = static_cast<unsigned>(text[2] - '0');
    } else if (text.starts_with(':') && text.ends_with('x')) {
        piece.kind = 'x';
        for (const char c : text.substr(1, text.size() - 2)) {
            if (c < '0' || c > '9') throw "unsupported format";
            piece.digits = piece.digits * 10 + static_cast<unsigned>(c - '0');
        }
    } else {
        throw "unsupported format";
    }
}

template <std::size_t Values>
consteval std::array<Piece, Values> pieces_of(std::string_view text) {
    std::array<Piece, Values> pieces{};
    for (Piece& piece : pieces) {
        const std::size_t open = text.find('{');
        const std::size_t close = text.find('}');
        if (open == text.npos || close == text.npos || close < open) throw "too few braces";
        piece.before = open;
        piece.written = close + 1 - open;
        read_piece(text.substr(open + 1, close - open - 1), piece);
        text.remove_prefix(close + 1);
    }
    if (text.contains('{') || text.contains('}')) throw "too many braces";
    return pieces;
}

inline constexpr std::size_t kLongestNumber = 40;

// An upper bound on the characters that a value takes.
template <typename Value>
std::size_t most_characters(const Value& value) {
    if constexpr (std::is_convertible_v<const Value&, std::string_view>) {
        return std::string_view(value).size();
    } else {
        return kLongestNumber;
    }
}

inline constexpr std::array<char, 512> kHexPairs = [] {
    std::array<char, 512> pairs{};
    for (std::size_t i = 0; i < pairs.size(); ++i)
        pairs[i] = "0123456789abcdef"[i % 2 == 0 ? i >> 5 : i >> 1 & 0xF];
    return pairs;
}();

// The lowest `digits` hexadecimal digits; returns where they end.
inline char* put_hex(char* to, std::uint64_t value, unsigned digits) {
    unsigned left = digits;
    if (left % 2 != 0) *to++ = kHexPairs[(value >> (4 * --left) & 0xF) * 2 + 1];
    for (; left > 0; left -= 2, to += 2)
        std::memcpy(to, &kHexPairs[(value >> (4 * (left - 2)) & 0xFF) * 2], 2);
    return to;
}

constexpr unsigned hex_digits_of(std::uint64_t value) {
    unsigned digits = 1;
    for (; value > 0xF; value >>= 4)
        ++digits;
    return digits;
}

template <Piece piece, typename Value>
char* put_value(char* to, const Value& value) {
    if constexpr (std::is_convertible_v<const Value&, std::string_view>) {
        const std::string_view text = value; // empty text may have a null pointer
        return std::copy_n(text.data(), text.size(), to);
    } else if constexpr (std::is_floating_point_v<Value>) {
        return std::to_chars(to, to + kLongestNumber, value, std::chars_format::fixed,
                             static_cast<int>(piece.digits))
            .ptr;
    } else if constexpr (piece.kind == 'd') {
        return std::to_chars(to, to + kLongestNumber, value).ptr;
    } else {
        const auto number = static_cast<std::uint64_t>(value);
        if constexpr (piece.kind == '#') {
            *to++ = '0';
            *to++ = 'x';
        }
        return put_hex(to, number, piece.digits != 0 ? piece.digits : hex_digits_of(number));
    }
}

// Reserves space once, then writes directly to the end of the string.
template <Pattern pattern, typename... Args>
void append(std::string& out, const Args&... args) {
    static constexpr auto pieces = pieces_of<sizeof...(Args)>(pattern.view());
    const std::size_t size = out.size();
    const std::size_t room = (pattern.view().size() + ... + most_characters(args));
    out.resize_and_overwrite(size + room, [&](char* begin, std::size_t /*room*/) {
        char* to = begin + size;
        const char* from = pattern.text.data();
        const auto one = [&]<std::size_t index>(const auto& value) {
            constexpr Piece piece = pieces[index];
            std::memcpy(to, from, piece.before);
            to = put_value<piece>(to + piece.before, value);
            from += piece.before + piece.written;
        };
        [&]<std::size_t... index>(std::index_sequence<index...>) {
            (one.template operator()<index>(args), ...);
        }(std::index_sequence_for<Args...>{});
        constexpr std::size_t taken = [] {
            std::size_t characters = 0;
            for (const Piece& piece : pieces)
                characters += piece.before + piece.written;
            return characters;
        }();
        constexpr std::size_t behind = pattern.view().size() - taken;
        std::memcpy(to, from, behind);
        return static_cast<std::size_t>(to + behind - begin);
    });
}

} // namespace veriroce::print
