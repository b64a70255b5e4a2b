// Memory of both sides: dut mr, tester mr, write, expect; and the guard pages around the DUT's
// regions, which must not change.
#pragma once

#include <cstdint>
#include <vector>

#include "conformance/dut/contract.hpp"
#include "conformance/interpreter/met.hpp"
#include "conformance/interpreter/task.hpp"

namespace veriroce::interpreter {

class Interpreter;
struct Memory;
struct Piece;

Task<Met<>> play_dut(Interpreter& interpreter, const script::MakeMr& line, Span span);
// For regions of either side.
Task<Met<>> play_dut(Interpreter& interpreter, const script::WriteMemory& line, Span span);
Task<Met<>> play(Interpreter& interpreter, const script::ExpectRegion& line, Span span);
Met<> make_tester_region(Interpreter& interpreter, const script::MakeMr& line, Span span);

// A region that no line names: the buffer of a work request without `local`.
Task<Met<Memory*>> anonymous_region(Interpreter& interpreter, std::uint64_t length,
                                    dut::PdHandle pd, std::string purpose, Span span);
Met<Memory*> anonymous_tester_region(Interpreter& interpreter, std::uint64_t length, Span span);

Task<Met<std::vector<std::byte>>> read_memory(Interpreter& interpreter, const Piece& piece,
                                              Span span);
// How bytes differ: the first differing ones, and the length if it differs.
std::vector<Difference> byte_differences(const std::vector<std::byte>& expected,
                                         const std::vector<std::byte>& actual,
                                         std::uint64_t first = 0);

Task<Met<>> guards_intact(Interpreter& interpreter);
Task<Met<>> guards_intact(Interpreter& interpreter, const Memory& memory, Span span);

} // namespace veriroce::interpreter
