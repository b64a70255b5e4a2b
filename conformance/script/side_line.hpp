// Parses `dut …` and `tester …`: commands for the two sides, and lines that wait for them.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <map>
#include <set>
#include <utility>

#include "conformance/script/names.hpp"
#include "conformance/script/options.hpp"

namespace veriroce::script {

// The ids that the script has posted so far; `done` may only wait for these.
class PostedIds {
  public:
    void add(Side side, wire::Queue queue, const IdRange& ids);
    // Fails the line if an id was never posted. The run checks ids that only it knows.
    void check_done(Cursor& cursor, Side side, wire::Queue queue, const IdRange& ids) const;

  private:
    std::map<std::pair<Side, wire::Queue>, std::set<std::int64_t>> ids_;
    std::set<std::pair<Side, wire::Queue>> unknown_;
};

// The line after `dut` or `tester`.
// `service` is that of the QP without a name.
SideCommand parse_side(Cursor& cursor, Scope& scope, PostedIds& posted_ids, Side side,
                       wire::Service service);

// FIELD=… of these lines, and other options, up to the end of the line.
enum class AttributeLine : std::uint8_t { Qp, Modify, Reconnect };
std::vector<Attribute> parse_attributes(Cursor& cursor, const Scope& scope, AttributeLine line,
                                        std::initializer_list<Option> others = {});

// A pattern: zero, ones, offsets, random, hex"…".
Pattern parse_pattern(Cursor& cursor);

} // namespace veriroce::script
