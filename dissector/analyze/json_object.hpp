// Writes the objects and lists of a report's JSON. Strings are ours: nothing in them has to be
// escaped.
#pragma once

#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "dissector/wire/instant.hpp"

namespace veriroce::analyze {

// Members of an object, from its brace to its brace.
class Object {
  public:
    explicit Object(std::string& out) : out_(out) { out_ += '{'; }
    Object(const Object&) = delete;
    Object& operator=(const Object&) = delete;
    ~Object() { out_ += '}'; }

    void name(std::string_view name) {
        if (!first_) out_ += ',';
        first_ = false;
        fmt::format_to(std::back_inserter(out_), "\"{}\":", name);
    }
    void number(std::string_view key, std::uint64_t value) {
        name(key);
        fmt::format_to(std::back_inserter(out_), "{}", value);
    }
    void real(std::string_view key, double value) {
        name(key);
        fmt::format_to(std::back_inserter(out_), "{:.6g}", value);
    }
    void text(std::string_view key, std::string_view value) {
        name(key);
        fmt::format_to(std::back_inserter(out_), "\"{}\"", value);
    }
    void flag(std::string_view key, bool value) {
        name(key);
        out_ += value ? "true" : "false";
    }
    // Left out if it is not known.
    void time(std::string_view key, std::optional<wire::Instant> value) {
        if (!value) return;
        const std::int64_t ns = value->time_since_epoch().count();
        name(key);
        const std::int64_t seconds = ns / 1'000'000'000 - (ns % 1'000'000'000 < 0 ? 1 : 0);
        fmt::format_to(std::back_inserter(out_), "{}.{:09}", seconds, ns - seconds * 1'000'000'000);
    }
    void duration(std::string_view key, std::optional<wire::Duration> value) {
        if (!value) return;
        name(key);
        fmt::format_to(std::back_inserter(out_), "{}", value->count());
    }
    // A packet's number, left out if there is none.
    void packet(std::string_view key, std::uint64_t value) {
        if (value != 0) number(key, value);
    }

  private:
    std::string& out_;
    bool first_ = true;
};

template <typename Items, typename Write>
void put_list(std::string& out, const Items& items, Write write) {
    out += '[';
    bool first = true;
    for (const auto& item : items) {
        if (!first) out += ',';
        first = false;
        write(item);
    }
    out += ']';
}

} // namespace veriroce::analyze
