// What comes beside the packets of connections: management datagrams, flow control of Ethernet,
// iWARP. For comparisons with another dissector.
#pragma once

#include "tests/dissector/corpus/corpus.hpp"

namespace veriroce::corpus {

// "management", "flow control" and "iwarp". The same at every call. `CorpusFrame::carrier` says
// what the frame is: "sa get path", "iwarp write v6"; `opcode` is 0x64 of the datagrams, else 0.
std::vector<Corpus> other_corpora();

// Management datagrams to QP 1 that no conversation of upper_corpus.hpp has.
Corpus management_corpus();
// PAUSE and PFC. Not padded to the least that Ethernet carries.
Corpus flow_control_corpus();
// TCP connections from SYN on: with CRCs over IPv4 and IPv6, then one without.
Corpus iwarp_corpus();

} // namespace veriroce::corpus
