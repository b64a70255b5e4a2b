// The grammar: each function adds one step of the dialogue on a QP. Where the
// rules leave a right device only one way, the step ends with the line that
// expects it.
#pragma once

#include "conformance/explorer/sketch.hpp"

namespace veriroce::explorer {

// The tester sends requests: legal ones, duplicates, packets ahead, packets
// that a receiver must drop, and packets that end the connection.
void ask(Sketch& sketch, Qp& qp);

// The device sends requests, and the tester answers: as it should, late, twice,
// or wrongly.
void answer(Sketch& sketch, Qp& qp);
// Answers what is still open, so that it completes.
void answer_all(Sketch& sketch, Qp& qp);

// Both ends are engines that send messages to each other, and the network does
// damage.
void begin_traffic(Sketch& sketch, const Qp& qp);
void traffic(Sketch& sketch, Qp& qp);

// The application binds a memory window, the tester uses it, and one of them invalidates it.
void use_window(Sketch& sketch, Qp& qp);

// What the application does at any moment: it writes to memory, changes a QP,
// ends it.
void interfere(Sketch& sketch, Qp& qp);

} // namespace veriroce::explorer
