// `dut cm`: a program on the device's host that listens, accepts and ends connections. The tester
// tells it what to do, and brings its QPs from state to state with the attributes that the device's
// connection management derives from a REQ. It compares them with that REQ.
//
// Source: rules CM-01 to CM-04, CM-09; librdmacm's rdma_accept and rdma_disconnect.
#pragma once

#include "conformance/interpreter/met.hpp"
#include "conformance/interpreter/task.hpp"

namespace veriroce::interpreter {

class Interpreter;
struct CaseQp;

Task<Met<>> play_connection(Interpreter& interpreter, CaseQp& qp, const script::Connection& line,
                            Span span);

// CM-05, CM-09: at the end of a case no connection is asked for, or has ended, without a line that
// takes it.
Task<Met<>> no_connection_event_left(Interpreter& interpreter);

} // namespace veriroce::interpreter
