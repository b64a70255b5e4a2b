// Looking again for what a device may show late: a completion may appear, and bytes may become
// visible, some time after the packets that caused them (ACK-05). A device that is right at once
// costs no time.
//
//   Patience patience(interpreter);
//   while (!is_there(...)) {
//       const bool again = co_await patience.look_again();
//       if (!again) co_return failed(...);
//   }
//
// Await it in a statement of its own: behind `&&` g++ 12 awaits it in any case.
#pragma once

#include "conformance/interpreter/task.hpp"
#include "dissector/wire/instant.hpp"

namespace veriroce::interpreter {

class Interpreter;

class Patience {
  public:
    // From now on.
    explicit Patience(Interpreter& interpreter);

    // Waits a while, each time longer. False: the patience of the run is over.
    Task<bool> look_again();

  private:
    Interpreter& interpreter_;
    wire::Instant deadline_;
    wire::Duration pause_;
};

} // namespace veriroce::interpreter
