// `dut cm`: a program on the device's host that listens, accepts and ends connections. The tester
// tells it what to do, and brings its QPs from state to state as the device's connection management
// says: what that makes of a REQ is compared with the REQ.
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

// CM-05: at the end of a case no connection is asked for that no line accepts or rejects.
Task<Met<>> no_more_requests(Interpreter& interpreter);

} // namespace veriroce::interpreter
