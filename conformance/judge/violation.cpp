#include "conformance/judge/violation.hpp"

namespace veriroce::judge {

std::string_view text_of(Excuse excuse) {
    switch (excuse) {
    case Excuse::CaptureLoss: return "the capture lacks a packet";
    case Excuse::Beginning: return "the capture began in the middle";
    case Excuse::NetworkOrder: return "a packet overtook another";
    case Excuse::NetworkCopy: return "the network copied a packet";
    case Excuse::Damage: return "a packet was damaged";
    case Excuse::InFlight: return "the packet was on its way already";
    case Excuse::NewLife: return "the QP began anew";
    case Excuse::Reconnect: return "the QP was connected anew";
    case Excuse::Closed: return "the QP had ended";
    case Excuse::WrongPair: return "the QPs are no pair";
    }
    return {};
}

std::string_view name_of(Certainty certainty) {
    switch (certainty) {
    case Certainty::Certain: return "certain";
    case Certainty::Possible: return "possible";
    case Certainty::Undecidable: return "undecidable";
    }
    return {};
}

} // namespace veriroce::judge
