// A column of -T fields, CSV and JSON: a field, or a part of the packet's line under the name that
// tshark gives it (_ws.col.Info).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "dissector/decode/field.hpp"

namespace veriroce::print {

enum class LinePart : std::uint8_t {
    Number,
    Time, // seconds since the first packet
    Source,
    Destination,
    Protocol,
    Length,
    Info,
    Findings, // _ws.expert: one value for each finding
};

class Column {
  public:
    Column(decode::Column field) : what_(std::move(field)) {} // NOLINT: implicit; it is a column
    // Nothing if there is no such field and no such part of the line.
    static std::optional<Column> find(std::string_view name);

    [[nodiscard]] std::string_view name() const;
    [[nodiscard]] bool needs_icrc() const;
    // Whether its value depends on connections being followed.
    [[nodiscard]] bool needs_flow() const;

    // As decode::Column::for_each. Text of the line is valid until the next call.
    template <typename Use>
    void for_each(const decode::Dissection& dissection, Use use) const {
        if (const auto* field = std::get_if<decode::Column>(&what_)) {
            return field->for_each(dissection, use);
        }
        const auto part = std::get<LinePart>(what_);
        for (std::size_t i = 0; write(dissection, part, i); ++i)
            use(kText, decode::Value{.number = 0, .bytes = {}, .text = text_});
    }

  private:
    Column(LinePart part, std::string_view name) : what_(part), part_name_(name) {}
    // The value by its number, counted from 0, into text_. False after the last.
    bool write(const decode::Dissection& dissection, LinePart part, std::size_t number) const;

    static constexpr decode::FieldRow kText{.format = decode::Format::Text};

    std::variant<decode::Column, LinePart> what_;
    std::string_view part_name_;
    mutable std::string text_; // reused for each packet
};

} // namespace veriroce::print
