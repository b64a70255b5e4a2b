#include "conformance/judge/violation.hpp"

namespace veriroce::judge {

std::string_view text_of(Excuse excuse) {
    switch (excuse) {
    case Excuse::CaptureLoss: return "the capture missed a packet";
    case Excuse::Beginning: return "the capture began in the middle";
    case Excuse::NetworkLoss: return "the network lost a packet";
    case Excuse::NetworkOrder: return "a packet overtook another";
    case Excuse::NetworkCopy: return "the network copied a packet";
    case Excuse::Damage: return "a packet was damaged";
    case Excuse::Rewritten: return "a switch changed bits outside the ICRC";
    case Excuse::InFlight: return "the packet was already on its way";
    case Excuse::NewLife: return "the QP was created again";
    case Excuse::Reconnect: return "the QP was connected again";
    case Excuse::Slow: return "the device takes longer to answer";
    case Excuse::Closed: return "the QP had ended";
    case Excuse::WrongPair: return "the QPs are not connected to each other";
    }
    return {};
}

std::string text_of(const Violation& violation) {
    return violation.measured + "; " + violation.allowed;
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
