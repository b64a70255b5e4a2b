// What a right responder does with a request that has its expected PSN.
//
// Each fault of a request permits some NAK codes. A request with several faults may be refused for
// any of them (KEY-10), so their codes are joined. Where the rules leave open whether the device
// takes, drops or refuses the request, or where the model cannot know (windows, keys that come and
// go, more READs than the device holds), the answer is Open, and nothing is demanded.
//
// Source: rules OPC-01 to OPC-10, LEN-01 to LEN-08, KEY-01 to KEY-10, ATM-02, ATM-07, BTH-06,
// BTH-10, BTH-12, RDR-09, RDR-10, RNR-01, N-15, N-37.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "conformance/model/posted.hpp"
#include "conformance/model/registered.hpp"
#include "conformance/model/story.hpp"
#include "dissector/wire/syndrome.hpp"

namespace veriroce::model {

// The message that the next packet of a QP continues.
struct OpenMessage {
    bool open = false;
    wire::Operation operation = wire::Operation::Send;
    wire::Reth reth;
    std::uint64_t bytes = 0;    // so far
    std::int64_t start = 0;     // PSN
    std::uint64_t receives = 0; // that earlier messages take
    bool legal = true;          // the message so far
    bool sure = true;           // nothing was left open that decides what the next packet may be
};

// A set of fatal NAK codes.
class NakCodes {
  public:
    void add(wire::NakCode code) { bits_ |= bit(code); }
    [[nodiscard]] bool contains(wire::NakCode code) const { return (bits_ & bit(code)) != 0; }

  private:
    static constexpr unsigned bit(wire::NakCode code) { return 1U << static_cast<unsigned>(code); }
    unsigned bits_ = 0;
};

struct DueAnswer {
    enum class Kind : std::uint8_t {
        Open,   // several answers are right, or the model does not know
        Accept, // it is executed, and answered if it asks for that
        Refuse, // a fatal NAK with one of the codes
        Wait,   // an RNR NAK: no receive is posted
    };
    Kind kind = Kind::Open;
    NakCodes codes;
    std::string_view rule; // that refuses it
    std::string_view why;
    rules::Level level = rules::Level::Must;
    std::optional<wire::Rkey> rkey; // that decides it
    bool may_be_lost = false;       // before it reaches the transport layer
    // Whether the model knows what the next packet continues if the device takes this one.
    bool context_known = false;
};

// Whether receive `number` of the QP (counted from 0) is there when a message needs it.
enum class Receive : std::uint8_t { Unknown, There, Missing };

struct Receives {
    Receive state = Receive::Unknown;
    const ReceiveWork* work = nullptr; // of a shared queue the shortest; null: not known
    bool shared = false;
};

// `before`: the message so far. `open_answers`: READs and atomics that may not be answered yet.
DueAnswer due_answer(const Story& story, const Packet& packet, const OpenMessage& before,
                     const Qp& qp, Registered& memory, const Receives& receives,
                     std::size_t open_answers);

} // namespace veriroce::model
