// The tester's requests, as the files of `ask` share them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "conformance/explorer/talk.hpp"

namespace veriroce::explorer {

// A SEND or a WRITE of the tester.
struct Message {
    bool write = false;
    bool immediate = false;
    std::uint64_t bytes = 0;
    bool solicited = false;
    bool asks = false;  // for an ACK
    std::string remote; // va= and rkey= of a WRITE
    std::string flags;  // of the last packet
    std::uint64_t from = 0;
};

// Any that the QP may be sent now.
Message some_message(Sketch& sketch, const Qp& qp, bool write);
std::string data_field(std::uint64_t from, std::uint64_t bytes);
// Anywhere in a large region, or up to the end of a small one; without data, nowhere.
std::string remote_target(Sketch& sketch, const Qp& qp, std::uint64_t bytes);
// The packets of a message, a line each; of a very long one, one line for all. Requests of the
// tester ask for an answer at the end, and sometimes before.
std::vector<std::string> packets_of(Sketch& sketch, const Qp& qp, const Message& message,
                                    std::int64_t psn);
// The device accepts the message.
void accepted(Sketch& sketch, Qp& qp, const Message& message, std::vector<std::string> packets);

void post_receive(Sketch& sketch, Qp& qp, std::uint64_t bytes);
// A receive for a message of this length; the message is cut to one that is there already.
std::uint64_t with_receive(Sketch& sketch, Qp& qp, std::uint64_t bytes);

// The lines of one QP that come next, now or between those of others.
void queue(Qp& qp, std::vector<std::string> lines);
// The line comes next with this chance in percent, where the QP's state is known.
void expect(Sketch& sketch, Qp& qp, std::uint64_t chance, std::string line);

// RSP-10, RDR-04, ATM-04: an earlier request, or a part of it, once more.
void duplicate(Sketch& sketch, Qp& qp);
// RDR-04, ATM-04: the answer to the latest request, a READ or an atomic, was lost, and the tester
// asks again. No other answer is due, so the device has one way. (A SEND or WRITE may have to come
// more than twice.)
void ask_again(Sketch& sketch, Qp& qp);
// RSP-02: a packet from far ahead comes, and then what is expected.
void far_packet(Sketch& sketch, Qp& qp);
// RSP-02: the first packets of what follows are lost, and those after them arrive. All are sent
// again.
void gap(Sketch& sketch, Qp& qp);
// RNR-01: no receive is there. The tester waits, and sends again.
void unready(Sketch& sketch, Qp& qp);
// A request, and before it a copy that every device must drop.
void dropped(Sketch& sketch, Qp& qp);

// A request that ends the connection.
void ask_illegally(Sketch& sketch, Qp& qp);
// N-07: a QP that has failed stays silent.
void speak_to_the_dead(Sketch& sketch, Qp& qp);

} // namespace veriroce::explorer
