// The grammar: each function adds one step of the dialogue on a QP. Where the
// rules leave a right device only one way, the step ends with the line that
// expects it.
#pragma once

#include <cstdint>
#include <span>

#include "conformance/explorer/sketch.hpp"

namespace veriroce::explorer {

// One of the steps that may come next.
struct Step {
    std::uint64_t weight;
    bool able; // the dialogue has it, and the QP can take it now
    void (*take)(Sketch& sketch, Qp& qp);
};

// Takes one that is able, by the weights; a dialogue may have a favourite.
void take_one(Sketch& sketch, Qp& qp, std::span<const Step> steps);

// The tester sends requests: legal ones, duplicates, packets ahead, packets
// that a receiver must drop, and packets that end the connection.
void ask(Sketch& sketch, Qp& qp);

// What the network repeats between the packets of a message that is under way.
void intrude(Sketch& sketch, Qp& qp);

// The device sends requests, and the tester answers: as it should, late, twice,
// or wrongly.
void answer(Sketch& sketch, Qp& qp);
// The application posts one request.
void ask_device(Sketch& sketch, Qp& qp);
// Makes the device send its oldest request again.
void disturb(Sketch& sketch, Qp& qp);
// Answers what is still open, so that it completes.
void answer_all(Sketch& sketch, Qp& qp);
// The device gives up its last request.
void exhaust_at_end(Sketch& sketch, Qp& qp);

// Both ends are engines that send messages to each other, and the network does
// damage.
void begin_traffic(Sketch& sketch, const Qp& qp);
void traffic(Sketch& sketch, Qp& qp);

// The tester begins as it did in the former life of the QP, or on another one: what a device kept
// by PSN shows.
void begin_alike(Sketch& sketch, Qp& qp, const std::vector<Sent>& former);
// One legal request of the tester.
void ask_legally(Sketch& sketch, Qp& qp);
// The next request of the tester is a READ or an atomic, of which the device keeps a limited
// number.
void make_room_for_read(Sketch& sketch, Qp& qp);
// Whether the QP has a completion queue of its own, in which nothing else may come.
bool may_arm(Sketch& sketch, const Qp& qp);
void arm(Sketch& sketch, Qp& qp, bool solicited);
// A SEND of one packet that the device acknowledges and completes; it is known that it does.
void send_small(Sketch& sketch, Qp& qp, bool solicited);
// The same of any message, which may have met a gap or RNR before.
void send_noticed(Sketch& sketch, Qp& qp, bool solicited);
// A chain of receives, of which few are used before the dialogue ends.
void post_many_receives(Sketch& sketch, Qp& qp);
// A receive in the queue that several QPs share.
void post_shared_receive(Sketch& sketch);
// Uses the QP once more after all that was done to it.
void probe(Sketch& sketch, Qp& qp);

// UC and UD: what arrives whole completes, and nothing is answered.
void talk_unreliably(Sketch& sketch, Qp& qp);
// Receives of such a QP that no message is for.
void post_idle_receives(Sketch& sketch, const Qp& qp);

// A stranger asks the host's connection management; no QP takes part.
void greet(Sketch& sketch, Qp& qp);

// The application binds a memory window, the tester uses it, and one of them invalidates it.
void use_window(Sketch& sketch, Qp& qp);

// The steps of an application that change a QP, each where the dialogue allows it.
void reconnect(Sketch& sketch, Qp& qp);
void drain(Sketch& sketch, Qp& qp);
void change_rights(Sketch& sketch, Qp& qp);
void use_notices(Sketch& sketch, Qp& qp);
void end(Sketch& sketch, Qp& qp);
// What an application does with a QP that is certainly in ERR.
void work_in_error(Sketch& sketch, Qp& qp);
// Lines of requests that wait: all at once, or one, so that other QPs take turns.
void send_pending(Sketch& sketch, Qp& qp);
void send_one_pending(Sketch& sketch, Qp& qp);

// What the application does at any moment: it writes to memory, changes a QP,
// ends it.
void interfere(Sketch& sketch, Qp& qp);

} // namespace veriroce::explorer
