// Parses `dut …` and `tester …`: what the two sides are asked to do, and what is waited for.
#pragma once

#include <map>
#include <set>
#include <utility>

#include "conformance/script/names.hpp"

namespace veriroce::script {

// What the script has posted so far: `done` may only wait for that.
class Ledger {
  public:
    void posted(Side side, Queue queue, const IdRange& ids);
    // Fails the line if an id was never posted. Ids that only the run knows are left to it.
    void check_done(Cursor& cursor, Side side, Queue queue, const IdRange& ids) const;

  private:
    std::map<std::pair<Side, Queue>, std::set<std::int64_t>> ids_;
    std::set<std::pair<Side, Queue>> unknown_;
};

// The line behind `dut` or `tester`.
SideCommand parse_side(Cursor& cursor, Scope& scope, Ledger& ledger, Side side);

// FIELD=… of `qp` and `modify`, up to the end of the line.
std::vector<Attribute> parse_attributes(Cursor& cursor, const Scope& scope, bool modify);

// A pattern: zero, ones, offsets, random, hex"…".
Pattern parse_pattern(Cursor& cursor);

} // namespace veriroce::script
