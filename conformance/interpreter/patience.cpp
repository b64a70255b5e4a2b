#include "conformance/interpreter/patience.hpp"

#include <algorithm>

#include "conformance/interpreter/clock.hpp"
#include "conformance/interpreter/environment.hpp"
#include "conformance/interpreter/events.hpp"
#include "conformance/interpreter/interpreter.hpp"

namespace veriroce::interpreter {

Patience::Patience(Interpreter& interpreter)
    : interpreter_(interpreter),
      deadline_(interpreter.clock().now() + interpreter.environment().patience),
      pause_(interpreter.environment().settle / 10) {}

Task<bool> Patience::look_again() {
    const wire::Instant now = interpreter_.clock().now();
    if (now >= deadline_) co_return false;
    co_await interpreter_.events().sleep(std::min(deadline_, now + pause_));
    pause_ *= 2;
    co_return true;
}

} // namespace veriroce::interpreter
