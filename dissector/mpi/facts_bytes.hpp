// What an analysis says, on its way to the process that reports it.
#pragma once

#include "dissector/analyze/facts.hpp"
#include "dissector/mpi/world.hpp"

namespace veriroce::mpi {

// Without graphs (Options::traces).
void put_conversation(Letter& letter, analyze::Conversation& conversation);
void take_conversation(Opened& letter, analyze::Conversation& fresh);
void put_totals(Letter& letter, analyze::Totals& totals);
analyze::Totals take_totals(Opened& letter);

} // namespace veriroce::mpi
