// The planted defects by rule group, and the lawful oddities by subject: one function and one file
// each. Inside the room only.
#pragma once

#include "conformance/mutants/mutants.hpp"

namespace veriroce::mutants {

std::span<const Mutant> enc();
std::span<const Mutant> crc();
std::span<const Mutant> bth();
std::span<const Mutant> sta();
std::span<const Mutant> rsp();
std::span<const Mutant> opc();
std::span<const Mutant> len_key();
std::span<const Mutant> rnr();
std::span<const Mutant> rdr_atm();
std::span<const Mutant> ack_req();
std::span<const Mutant> tmo();
std::span<const Mutant> cnp_rob();
std::span<const Mutant> cm();
std::span<const Mutant> completions();
std::span<const Mutant> answers();
std::span<const Mutant> requests();
std::span<const Mutant> effects();
std::span<const Mutant> memory();
std::span<const Mutant> resends();
std::span<const Mutant> positions();

std::span<const Mutant> blind_checks();
std::span<const Mutant> blind_responder();
std::span<const Mutant> blind_reads();
std::span<const Mutant> blind_requester();
std::span<const Mutant> blind_host();
std::span<const Mutant> blind_port();
std::span<const Mutant> blind2_checks();
std::span<const Mutant> blind2_responder();
std::span<const Mutant> blind2_reads();
std::span<const Mutant> blind2_requester();
std::span<const Mutant> blind2_host();
std::span<const Mutant> blind2_port();
std::span<const Mutant> blind2_packets();
std::span<const Mutant> blind2_effects();
std::span<const Mutant> blind3_responder();
std::span<const Mutant> blind3_requester();
std::span<const Mutant> blind3_host();
std::span<const Mutant> blind3_port();
std::span<const Mutant> blind4_responder();
std::span<const Mutant> blind4_requester();
std::span<const Mutant> blind4_host();
std::span<const Mutant> blind4_port();
std::span<const Mutant> blind5_responder();
std::span<const Mutant> blind5_requester();
std::span<const Mutant> blind5_port();
std::span<const Mutant> blind6_responder();
std::span<const Mutant> blind6_requester();
std::span<const Mutant> blind6_port();
std::span<const Mutant> blind7_responder();
std::span<const Mutant> blind7_requester();
std::span<const Mutant> blind7_port();
std::span<const Mutant> blind8_responder();
std::span<const Mutant> blind8_requester();
std::span<const Mutant> blind8_port();
std::span<const Mutant> blind9_responder();
std::span<const Mutant> blind9_requester();
std::span<const Mutant> blind9_port();
std::span<const Mutant> blind10_all();
std::span<const Mutant> blind11_responder();
std::span<const Mutant> blind11_requester();
std::span<const Mutant> blind11_port();
std::span<const Mutant> blind12_responder();
std::span<const Mutant> blind12_requester();
std::span<const Mutant> blind13_responder();
std::span<const Mutant> blind13_requester();
std::span<const Mutant> blind14_responder();
std::span<const Mutant> blind14_requester();
std::span<const Mutant> blind15_responder();
std::span<const Mutant> blind15_requester();
std::span<const Mutant> blind16_responder();
std::span<const Mutant> blind16_requester();
std::span<const Mutant> blind17_responder();
std::span<const Mutant> blind17_requester();
std::span<const Mutant> blind18_responder();
std::span<const Mutant> blind18_requester();
std::span<const Mutant> blind19_responder();
std::span<const Mutant> blind19_requester();
std::span<const Mutant> blind20_responder();
std::span<const Mutant> blind20_requester();
std::span<const Mutant> blind21_responder();
std::span<const Mutant> blind21_requester();
std::span<const Mutant> blind22_responder();
std::span<const Mutant> blind22_requester();

std::span<const Mutant> lawful_first();
std::span<const Mutant> lawful_responder();
std::span<const Mutant> lawful_requester();
std::span<const Mutant> lawful_port();
std::span<const Mutant> lawful_headers();
std::span<const Mutant> lawful_answers();
std::span<const Mutant> lawful_resends();
std::span<const Mutant> lawful_host();
std::span<const Mutant> lawful_cm();
std::span<const Mutant> lawful_blind_answers();
std::span<const Mutant> lawful_blind_requests();
std::span<const Mutant> lawful_blind2_answers();
std::span<const Mutant> lawful_blind2_requests();
std::span<const Mutant> lawful_blind3();
std::span<const Mutant> lawful_blind4();
std::span<const Mutant> lawful_blind5_plain();
std::span<const Mutant> lawful_blind5_traits();
std::span<const Mutant> lawful_blind6_mixed();
std::span<const Mutant> lawful_blind7_mixed();
std::span<const Mutant> lawful_blind8_mixed();
std::span<const Mutant> lawful_blind9_mixed();
std::span<const Mutant> lawful_blind10_mixed();

} // namespace veriroce::mutants
