// Written blind: a requester's packets, timers and retries.
#include "conformance/mutants/blind.hpp"
#include "conformance/mutants/groups.hpp"

namespace veriroce::mutants::of_blind_requester {
namespace {

using wire::Operation;
using wire::Position;

// Which requests have left.
struct Sent {
    NewestPsn newest;
    std::optional<wire::Psn> last; // that left, whether new or again

    // Whether it has left before.
    bool note(const wire::Packet& packet, wire::Mtu mtu) {
        last = packet.bth.psn;
        const bool read = is_read_request(packet);
        return newest.note(packet.bth.psn,
                           read ? wire::packets_of(packet.reth.dma_length, mtu) : 1);
    }
};

class RestartsWithFirst final : public QpFilter<Sent> {
  protected:
    void leaves(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        if (!packet.info().request()) return;
        const auto before = qp.memory.last;
        const bool again = qp.memory.note(packet, qp.mtu());
        const bool jumped = !before || *before + 1 != packet.bth.psn;
        const bool middle = packet.info().operation == Operation::Send &&
                            packet.info().position == Position::Middle;
        if (again && jumped && middle) set_place(packet, Position::First);
    }
};

class ResendAsksNothing final : public QpFilter<Sent> {
  protected:
    void leaves(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        if (!packet.info().request() || !qp.memory.note(packet, qp.mtu())) return;
        const bool answered = packet.info().operation == Operation::Send ||
                              packet.info().operation == Operation::RdmaWrite;
        if (answered) packet.bth.ack_request = false;
    }
};

void pad_of_one(wire::Packet& packet) {
    constexpr std::uint8_t all_but_one = 3;
    const bool last = packet.info().request() && packet.info().position == Position::Last;
    if (!last || packet.bth.pad != all_but_one) return;
    packet.bth.pad = 1;
    packet.body = packet.body.first(packet.body.size() - 2);
}

void announces_sixteen_bits(wire::Packet& packet) {
    constexpr std::uint32_t sixteen_bits = 0xFFFF;
    const bool first = packet.info().operation == Operation::RdmaWrite &&
                       packet.info().position == Position::First;
    if (first) packet.reth.dma_length &= sixteen_bits;
}

class SolicitsEveryPacket final : public QpFilter<Nothing> {
  public:
    void posting_send(wire::Qpn qpn, engine::SendRequest& request) override {
        solicited_[qpn] = request.flags.solicited;
    }

  protected:
    void leaves(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        const bool inside =
            packet.info().operation == Operation::Send && !packet.info().ends_message();
        if (inside && solicited_[qp.report.qpn]) packet.bth.solicited = true;
    }

  private:
    std::map<wire::Qpn, bool> solicited_; // the newest request
};

// The packet processor keeps only the READ's first PSN and compares ACKs with it.
struct ShortRead {
    wire::Psn psn;
    std::uint32_t length = 0;
};
struct ShortReads {
    std::deque<ShortRead> unanswered;
    std::vector<std::byte> zeros;
};

class AckCompletesRead final : public QpFilter<ShortReads> {
  protected:
    void leaves(Qp& qp, Passage& passage) override {
        const wire::Packet& packet = passage.packet;
        if (!is_read_request(packet) || packet.reth.dma_length > wire::bytes_of(qp.mtu())) return;
        std::erase_if(qp.memory.unanswered,
                      [&](const ShortRead& read) { return read.psn == packet.bth.psn; });
        qp.memory.unanswered.push_back({.psn = packet.bth.psn, .length = packet.reth.dma_length});
    }
    void arrives(Qp& qp, Passage& passage) override {
        const wire::Packet& packet = passage.packet;
        auto& unanswered = qp.memory.unanswered;
        if (is_read_response(packet)) {
            std::erase_if(unanswered,
                          [&](const ShortRead& read) { return read.psn == packet.bth.psn; });
        }
        if (!is_ack(packet) || unanswered.empty()) return;
        const ShortRead read = unanswered.front();
        if (wire::distance(read.psn, packet.bth.psn) <= 0) return;
        unanswered.pop_front();
        wire::Packet data = packet;
        set_opcode(data, Operation::RdmaReadResponse, Position::Only);
        data.bth.psn = read.psn;
        data.bth.pad = wire::pad_of(read.length);
        qp.memory.zeros.assign(read.length + data.bth.pad, std::byte{});
        data.body = qp.memory.zeros;
        passage.before.push_back(data);
    }
};

struct WriteMessage {
    wire::Psn first;
    std::uint32_t packets = 1;
};
struct WriteMessages {
    std::deque<WriteMessage> sent;
    NewestPsn newest;
};

class AckInsideCompletesWrite final : public QpFilter<WriteMessages> {
  protected:
    void leaves(Qp& qp, Passage& passage) override {
        const wire::Packet& packet = passage.packet;
        if (!packet.info().request()) return;
        auto& [sent, newest] = qp.memory;
        if (newest.note(packet.bth.psn)) return;
        constexpr std::size_t kept = 64;
        if (packet.info().operation == Operation::RdmaWrite &&
            packet.info().position == Position::First) {
            sent.push_back({.first = packet.bth.psn,
                            .packets = wire::packets_of(packet.reth.dma_length, qp.mtu())});
            if (sent.size() > kept) sent.pop_front();
        }
    }
    void arrives(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        const auto& newest = qp.memory.newest.psn;
        if (!is_ack(packet) || !newest) return;
        for (const WriteMessage& write : qp.memory.sent) {
            const wire::Psn last = write.first + (write.packets - 1);
            const bool inside = wire::distance(write.first, packet.bth.psn) >= 0 &&
                                wire::distance(packet.bth.psn, last) > 0;
            if (inside && wire::distance(last, *newest) >= 0) packet.bth.psn = last;
        }
    }
};

// --- PSNs of READs

struct Jump {
    wire::Psn from; // the first PSN of the engine's that it counts for
    std::int32_t by = 0;
};
struct Jumps {
    std::vector<Jump> jumps;
    Sent sent;
};

class FullReadTakesOneMore final : public QpFilter<Jumps> {
  protected:
    void leaves(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        if (!packet.info().request()) return;
        auto& [jumps, sent] = qp.memory;
        const wire::Psn psn = packet.bth.psn;
        for (const Jump& jump : jumps) {
            if (wire::distance(jump.from, psn) >= 0) packet.bth.psn = psn + jump.by;
        }
        wire::Packet plain = packet;
        plain.bth.psn = psn;
        const bool again = sent.note(plain, qp.mtu());
        const std::uint32_t mtu = wire::bytes_of(qp.mtu());
        const std::uint32_t length = packet.reth.dma_length;
        if (again || !is_read_request(packet) || length == 0 || length % mtu != 0) return;
        const std::int32_t by = jumps.empty() ? 0 : jumps.back().by;
        jumps.push_back({.from = psn + length / mtu, .by = by + 1});
    }
    void arrives(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        if (!packet.info().response()) return;
        const wire::Psn psn = packet.bth.psn;
        for (const Jump& jump : qp.memory.jumps) {
            if (wire::distance(jump.from + jump.by, psn) >= 0) packet.bth.psn = psn - jump.by;
        }
    }
};

struct OldReads {
    std::deque<wire::Packet> sent;
};

class RetryKeepsAddress final : public QpFilter<OldReads> {
  protected:
    void leaves(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        if (!is_read_request(packet)) return;
        for (const wire::Packet& old : qp.memory.sent) {
            const std::int32_t at = wire::distance(old.bth.psn, packet.bth.psn);
            const std::uint32_t packets = wire::packets_of(old.reth.dma_length, qp.mtu());
            if (at < 0 || static_cast<std::uint32_t>(at) >= packets) continue;
            packet.reth.virtual_address = old.reth.virtual_address;
            return;
        }
        constexpr std::size_t kept = 64;
        qp.memory.sent.push_back(packet);
        qp.memory.sent.back().body = {};
        if (qp.memory.sent.size() > kept) qp.memory.sent.pop_front();
    }
};

// --- times

struct Waits {
    std::optional<wire::Psn> psn; // of the newest RNR NAK
};

class SecondRnrWaitIsShorter final : public QpFilter<Waits> {
  protected:
    void arrives(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        if (!is_rnr_nak(packet)) return;
        // Two codes less is half the time, more or less.
        constexpr std::uint8_t least = 3;
        const std::uint8_t code = packet.aeth.syndrome.code();
        if (qp.memory.psn == packet.bth.psn && code >= least) {
            packet.aeth.syndrome = wire::Syndrome::rnr(static_cast<std::uint8_t>(code - 2));
        }
        qp.memory.psn = packet.bth.psn;
    }
};

void longest_is_code_24(wire::Packet& packet) {
    constexpr std::uint8_t longest = 24;
    if (is_rnr_nak(packet) && packet.aeth.syndrome.code() > longest) {
        packet.aeth.syndrome = wire::Syndrome::rnr(longest);
    }
}

// A device that keeps another timeout than it is told, and reports the one that it was told.
template <std::uint8_t (*Kept)(std::uint8_t)>
class KeepsTimeout final : public engine::SurfaceFilter {
  public:
    void modifying(wire::Qpn qpn, engine::QpAttributes& attributes) override {
        if (!attributes.timeout) return;
        told_[qpn] = *attributes.timeout;
        attributes.timeout = Kept(*attributes.timeout);
    }
    void queried(engine::QpReport& report) override {
        const auto told = told_.find(report.qpn);
        if (told != told_.end()) report.attributes.timeout = told->second;
    }

  private:
    std::map<wire::Qpn, std::uint8_t> told_;
};

std::uint8_t at_most_sixteen(std::uint8_t code) {
    return std::min<std::uint8_t>(code, 16);
}
std::uint8_t never_is_fourteen(std::uint8_t code) {
    return code == 0 ? std::uint8_t{14} : code;
}

// --- pieces

class AlignsSecondPiece final : public engine::SurfaceFilter {
  public:
    void posting_send(wire::Qpn /*qpn*/, engine::SendRequest& request) override {
        pieces_.assign(request.sges.begin(), request.sges.end());
        for (std::size_t i = 1; i < pieces_.size(); ++i)
            pieces_[i].address &= ~std::uint64_t{3};
        if (pieces_.size() < 2) return;
        kept_.push_back(pieces_);
        request.sges = kept_.back();
    }

  private:
    std::vector<engine::Sge> pieces_;
    std::deque<std::vector<engine::Sge>> kept_; // the engine copies a list when its chain is posted
};

constexpr std::array kFirst{
    Mutant{.name = "resend_asks_for_no_ack",
           .rule = "TMO-06",
           .level = "SHOULD",
           .description = "Packets of SENDs and WRITEs that are sent again do not ask for an ACK.",
           .make_filter = make<ResendAsksNothing>},
    Mutant{.name = "last_with_one_byte_over_padded_with_one",
           .rule = "BTH-09",
           .description = "A LAST whose payload needs three pad bytes is sent with one.",
           .cases = "req/pieces-sent-again",
           .make_filter = make<EditsOutbound<pad_of_one>>},
    Mutant{.name = "write_announces_sixteen_bits",
           .rule = "LEN-04",
           .description = "The RETH of a WRITE of more than 64 KiB has the lower 16 bits of its "
                          "length.",
           .cases = "req/resends-beyond-64k req/write-above-64k",
           .make_filter = make<EditsOutbound<announces_sixteen_bits>>},
    Mutant{.name = "later_ack_completes_short_read",
           .rule = "REQ-08",
           .description = "An ACK of a later request completes an unanswered READ of one packet, "
                          "with zeros for data.",
           .make_filter = make<AckCompletesRead>},
    Mutant{.name = "ack_inside_completes_write",
           .rule = "REQ-04",
           .description = "An ACK of a packet inside a WRITE completes the WRITE, if all of it was "
                          "sent.",
           .cases = "req/ack-inside-a-write",
           .make_filter = make<AckInsideCompletesWrite>},
    Mutant{.name = "full_read_takes_one_psn_more",
           .rule = "REQ-01",
           .description = "A READ whose length is a multiple of the MTU takes one PSN more than it "
                          "has responses.",
           .cases = "req/wrap",
           .make_filter = make<FullReadTakesOneMore>},
    Mutant{.name = "read_retry_keeps_address",
           .rule = "REQ-10",
           .description = "A READ that asks for the rest names the address of the beginning.",
           .cases = "req/last-too-early",
           .make_filter = make<RetryKeepsAddress>},
    Mutant{.name = "second_rnr_wait_is_half",
           .rule = "RNR-08",
           .description = "After a second RNR NAK of the same request the wait is half of what it "
                          "asks for.",
           .cases = "rnr/second-wait",
           .make_filter = make<SecondRnrWaitIsShorter>},
    Mutant{.name = "timeout_at_most_sixteen",
           .rule = "TMO-01",
           .description = "A timeout above 16 acts as 16.",
           .cases = "tmo/long-timeouts tmo/read-restarts-the-timer",
           .make_filter = make<KeepsTimeout<at_most_sixteen>>},
};

constexpr std::array kSecond{
    Mutant{.name = "restart_inside_send_begins_with_first",
           .rule = "REQ-31",
           .description = "If a retry begins at a MIDDLE of a SEND, this packet is sent as a "
                          "FIRST.",
           .make_filter = make<RestartsWithFirst>},
    Mutant{.name = "solicited_on_every_packet",
           .rule = "BTH-14",
           .description = "A solicited SEND has SE on each of its packets.",
           .cases = "ext/unreliable-solicited req/solicited-long",
           .make_filter = make<SolicitsEveryPacket>},
    Mutant{.name = "rnr_wait_at_most_code_24",
           .rule = "RNR-08",
           .description = "Timer codes above 24 are waited for as code 24.",
           .make_filter = make<EditsInbound<longest_is_code_24>>},
    Mutant{.name = "timeout_zero_acts_as_fourteen",
           .rule = "TMO-02",
           .description = "A timeout of 0 acts as 14.",
           .cases = "tmo/timers-on-three-qps",
           .make_filter = make<KeepsTimeout<never_is_fourteen>>},
    Mutant{.name = "second_piece_sent_from_aligned_address",
           .rule = "LEN-10",
           .description = "Each piece of a request but the first is fetched from the multiple of 4 "
                          "at or before its address.",
           .cases = "req/two-pieces",
           .make_filter = make<AlignsSecondPiece>},
};

} // namespace
} // namespace veriroce::mutants::of_blind_requester

namespace veriroce::mutants {

std::span<const Mutant> blind_requester() {
    return of_blind_requester::kFirst;
}

std::span<const Mutant> blind2_requester() {
    return of_blind_requester::kSecond;
}

} // namespace veriroce::mutants
