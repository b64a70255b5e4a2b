// The values of the expressions, names and ranges of a line when it is played.
// Errors: an ERROR that names the line's word that has no value.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "conformance/interpreter/met.hpp"
#include "conformance/script/evaluate.hpp"
#include "dissector/wire/instant.hpp"
#include "dissector/wire/types.hpp"

namespace veriroce::interpreter {

struct CaseQp;
struct Objects;
struct Piece;

// id=1..8, with both ends.
struct Ids {
    std::int64_t first = 0;
    std::int64_t last = 0;
};

using FieldOf = std::optional<script::FieldName>;

// The value of a name in a line about `qp`. A region's value is its key in fields for keys, else
// its address. Nothing for an unknown name.
std::optional<std::int64_t> value_of_name(const Objects& objects, const CaseQp& qp,
                                          std::string_view name, FieldOf field);

// What these are worth by what the lookup knows.
Met<std::int64_t> number(const script::Expr& expr, const script::Lookup& lookup);
Met<script::Bounds> bounds(const script::ValueRange& range, const script::Lookup& lookup);

// Of a line about `qp`.
Met<std::int64_t> number(const Objects& objects, const script::Expr& expr, const CaseQp& qp,
                         FieldOf field = std::nullopt);
// The value of an optional expression.
Met<std::int64_t> number_or(const Objects& objects, const std::optional<script::Expr>& expr,
                            std::int64_t otherwise, const CaseQp& qp);
Met<wire::Duration> time_or(const Objects& objects, const std::optional<script::Expr>& expr,
                            wire::Duration otherwise, const CaseQp& qp);
Met<script::Bounds> bounds(const Objects& objects, const script::ValueRange& range,
                           const CaseQp& qp);
Met<Ids> ids_of(const Objects& objects, const script::IdRange& range, const CaseQp& qp);
Met<std::uint32_t> key_of(const Objects& objects, const script::Key& key, const CaseQp& qp);
Met<std::optional<wire::Lkey>> lkey_of(const Objects& objects,
                                       const std::optional<script::Key>& key, const CaseQp& qp);
Met<Piece> piece_of(Objects& objects, const script::RegionSlice& slice, const CaseQp& qp);

} // namespace veriroce::interpreter
