// Written blind: READ responses, and atomics.
#include <bit>
#include <cstring>

#include "conformance/mutants/blind.hpp"
#include "conformance/mutants/groups.hpp"

namespace veriroce::mutants::of_blind_reads {
namespace {

using wire::Operation;
using wire::Position;

bool is_atomic_answer(const wire::Packet& packet) {
    return packet.info().operation == Operation::AtomicAcknowledge;
}

// --- READs

struct Read {
    wire::Psn psn;
    std::uint32_t packets = 1;
    wire::Reth reth;
    bool repeats = false; // the tail of an earlier one

    [[nodiscard]] bool holds(wire::Psn at) const {
        const std::int32_t offset = wire::distance(psn, at);
        return offset >= 0 && static_cast<std::uint32_t>(offset) < packets;
    }
};

struct Asked {
    std::deque<Read> reads; // newest last
    std::optional<wire::Psn> answered;
    std::vector<std::byte> body; // of the packet on its way

    // Of the newest request that has this PSN.
    [[nodiscard]] std::optional<Read> holding(wire::Psn psn) const {
        for (auto read = reads.rbegin(); read != reads.rend(); ++read) {
            if (read->holds(psn)) return *read;
        }
        return std::nullopt;
    }
    void note(const wire::Packet& packet, wire::Mtu mtu) {
        constexpr std::size_t kept = 64;
        const auto before = holding(packet.bth.psn);
        reads.push_back({.psn = packet.bth.psn,
                         .packets = wire::packets_of(packet.reth.dma_length, mtu),
                         .reth = packet.reth,
                         .repeats = before && before->psn != packet.bth.psn});
        if (reads.size() > kept) reads.pop_front();
    }
};

class ReadFilter : public DmaFilter<Asked> {
  protected:
    void arrives(Qp& qp, Passage& passage) final {
        if (!is_read_request(passage.packet)) return;
        changes(qp, passage.packet);
        qp.memory.note(passage.packet, qp.mtu());
    }
    void leaves(Qp& qp, Passage& passage) final {
        if (!is_read_response(passage.packet)) return;
        const auto read = qp.memory.holding(passage.packet.bth.psn);
        qp.memory.answered = passage.packet.bth.psn;
        if (read) answers(qp, *read, passage.packet);
    }
    virtual void changes(Qp& /*qp*/, wire::Packet& /*request*/) {}
    virtual void answers(Qp& /*qp*/, const Read& /*read*/, wire::Packet& /*response*/) {}
};

class WholePacketsEndInMiddle final : public ReadFilter {
    void answers(Qp& qp, const Read& /*read*/, wire::Packet& response) override {
        const bool full = response.body.size() == wire::bytes_of(qp.mtu());
        if (response.info().position == Position::Last && full) {
            set_opcode(response, Operation::RdmaReadResponse, Position::Middle);
        }
    }
};

class LastOfLongReadHasOldMsn final : public ReadFilter {
    void answers(Qp& /*qp*/, const Read& read, wire::Packet& response) override {
        constexpr std::uint32_t has_middle = 3;
        if (response.info().position == Position::Last && read.packets >= has_middle) {
            response.aeth.msn = response.aeth.msn + -1;
        }
    }
};

class SecondReadUsesFirstAddress final : public ReadFilter {
    void changes(Qp& qp, wire::Packet& request) override {
        if (qp.memory.reads.empty()) return;
        const Read& first = qp.memory.reads.back();
        const wire::Psn last = first.psn + (first.packets - 1);
        const bool waits = !qp.memory.answered || wire::distance(*qp.memory.answered, last) > 0;
        const bool next = request.bth.psn == last + 1;
        if (waits && next && request.reth.dma_length <= first.reth.dma_length) {
            request.reth.virtual_address = first.reth.virtual_address;
            request.reth.rkey = first.reth.rkey;
        }
    }
};

class PadsWithRest final : public ReadFilter {
    void answers(Qp& qp, const Read& /*read*/, wire::Packet& response) override {
        if (response.bth.pad == 0) return;
        auto& body = qp.memory.body;
        body.assign(response.body.begin(), response.body.end());
        for (std::size_t i = body.size() - response.bth.pad; i < body.size(); ++i)
            body[i] = std::byte{0xA5};
        response.body = body;
    }
};

class EmptyReadIsAcked final : public ReadFilter {
    void answers(Qp& /*qp*/, const Read& read, wire::Packet& response) override {
        if (read.reth.dma_length == 0) {
            set_opcode(response, Operation::Acknowledge, Position::Only);
        }
    }
};

// The DMA engine takes the second page's bytes from the first page, if the READ is not aligned.
class RepeatsPage final : public ReadFilter {
    void answers(Qp& qp, const Read& read, wire::Packet& response) override {
        constexpr std::uint64_t page = 4096;
        constexpr std::uint64_t line = 64;
        const auto at = static_cast<std::uint64_t>(wire::distance(read.psn, response.bth.psn));
        const std::uint64_t begin = read.reth.virtual_address + at * wire::bytes_of(qp.mtu());
        const std::uint64_t length = response.payload().size();
        const std::uint64_t border = begin / page * page + page;
        if (begin % line == 0 || border >= begin + length) return;
        auto& body = qp.memory.body;
        body.assign(response.body.begin(), response.body.end());
        const std::uint64_t rest = begin + length - border;
        const auto from = regions().at(read.reth.rkey, border - page, rest);
        std::ranges::copy(from, body.begin() + static_cast<std::ptrdiff_t>(border - begin));
        response.body = body;
    }
};

class SkipsPsnZero final : public ReadFilter {
    void answers(Qp& /*qp*/, const Read& read, wire::Packet& response) override {
        if (response.bth.psn.value() < read.psn.value()) response.bth.psn += 1;
    }
};

class ShortTailIsFirst final : public ReadFilter {
    void answers(Qp& /*qp*/, const Read& read, wire::Packet& response) override {
        if (read.repeats && response.info().position == Position::Only) {
            set_opcode(response, Operation::RdmaReadResponse, Position::First);
        }
    }
};

class LengthInSixteenBits final : public ReadFilter {
    void changes(Qp& /*qp*/, wire::Packet& request) override {
        constexpr std::uint32_t sixteen_bits = 0xFFFF;
        if (request.reth.dma_length > sixteen_bits + 1) request.reth.dma_length &= sixteen_bits;
    }
};

class TailOffsetInSixteenBits final : public ReadFilter {
    void changes(Qp& qp, wire::Packet& request) override {
        const auto read = qp.memory.holding(request.bth.psn);
        if (!read) return;
        constexpr std::uint64_t limit = 0x10000;
        const std::uint64_t offset = request.reth.virtual_address - read->reth.virtual_address;
        if (offset >= limit) request.reth.virtual_address -= limit;
    }
};

struct Held {
    bool send_waits = false; // an ACK will follow the responses
    std::optional<wire::Packet> last;
    std::vector<std::byte> body;
};

class AckOvertakesLastResponse final : public QpFilter<Held> {
  protected:
    void arrives(Qp& qp, Passage& passage) override {
        const wire::OpcodeInfo& info = passage.packet.info();
        if (is_read_request(passage.packet)) qp.memory.send_waits = false;
        qp.memory.send_waits |= info.operation == Operation::Send && info.ends_message() &&
                                passage.packet.bth.ack_request;
    }
    void leaves(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        Held& held = qp.memory;
        if (is_read_response(packet) && packet.info().position == Position::Last &&
            held.send_waits && !held.last) {
            held.body.assign(packet.body.begin(), packet.body.end());
            held.last = packet;
            held.last->body = held.body;
            passage.dropped = true;
            return;
        }
        if (!held.last) return;
        passage.after.push_back(*held.last);
        held.last.reset();
        held.send_waits = false;
    }
};

// --- atomics

struct Atomic {
    wire::AtomicEth asked;
    bool swaps = false;
    bool failed = false; // a swap whose compare did not fit
    bool answered = false;
};

struct Atomics {
    std::map<std::uint32_t, Atomic> by_psn;
    std::vector<std::uint32_t> order; // PSNs in the order of arrival
};

class AtomicFilter : public DmaFilter<Atomics> {
  protected:
    void arrives(Qp& qp, Passage& passage) final {
        wire::Packet& packet = passage.packet;
        if (!is_atomic_request(packet)) return;
        const std::uint32_t psn = packet.bth.psn.value();
        const auto known = qp.memory.by_psn.find(psn);
        if (known != qp.memory.by_psn.end() && known->second.answered) {
            packet.atomic = known->second.asked;
            return;
        }
        const auto memory =
            regions().at(packet.atomic.rkey, packet.atomic.virtual_address, sizeof(std::uint64_t));
        if (memory.empty()) return;
        std::uint64_t value = 0;
        std::memcpy(&value, memory.data(), sizeof value);
        const bool swaps = packet.info().operation == Operation::CompareSwap;
        changes(packet, value);
        qp.memory.by_psn[psn] = {.asked = packet.atomic,
                                 .swaps = swaps,
                                 .failed = swaps && packet.atomic.compare != value};
        qp.memory.order.push_back(psn);
    }
    void leaves(Qp& qp, Passage& passage) final {
        wire::Packet& packet = passage.packet;
        if (!is_atomic_answer(packet)) return;
        const auto known = qp.memory.by_psn.find(packet.bth.psn.value());
        if (known == qp.memory.by_psn.end()) return;
        const bool again = known->second.answered;
        known->second.answered = true;
        answers(known->second, again, packet);
    }
    virtual void changes(wire::Packet& /*request*/, std::uint64_t /*value*/) {}
    virtual void answers(const Atomic& /*atomic*/, bool /*again*/, wire::Packet& /*answer*/) {}
};

class DuplicateSwapReadsAgain final : public AtomicFilter {
    void answers(const Atomic& atomic, bool again, wire::Packet& answer) override {
        if (!again || !atomic.swaps) return;
        const auto memory =
            regions().at(atomic.asked.rkey, atomic.asked.virtual_address, sizeof(std::uint64_t));
        if (memory.empty()) return;
        std::memcpy(&answer.atomic_ack.original, memory.data(), memory.size());
    }
};

class AddsHalves final : public AtomicFilter {
    void changes(wire::Packet& request, std::uint64_t value) override {
        if (request.info().operation != Operation::FetchAdd) return;
        constexpr std::uint64_t low = 0xFFFFFFFF;
        const std::uint64_t add = request.atomic.swap_or_add;
        const std::uint64_t sum = ((value & ~low) + (add & ~low)) | ((value + add) & low);
        request.atomic.swap_or_add = sum - value;
    }
};

class ComparesLowHalf final : public AtomicFilter {
    void changes(wire::Packet& request, std::uint64_t value) override {
        constexpr std::uint64_t low = 0xFFFFFFFF;
        const bool same = (request.atomic.compare & low) == (value & low);
        if (request.info().operation == Operation::CompareSwap && same) {
            request.atomic.compare = value;
        }
    }
};

class FailedSwapAnswersCompare final : public AtomicFilter {
    void answers(const Atomic& atomic, bool /*again*/, wire::Packet& answer) override {
        if (atomic.failed) answer.atomic_ack.original = atomic.asked.compare;
    }
};

class FailedSwapNotCounted final : public AtomicFilter {
    void answers(const Atomic& atomic, bool /*again*/, wire::Packet& answer) override {
        if (atomic.failed) answer.aeth.msn = answer.aeth.msn + -1;
    }
};

class ResentSwapIsSwapped final : public QpFilter<NewestPsn> {
  protected:
    void leaves(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        if (!packet.info().request() || !qp.memory.note(packet.bth.psn)) return;
        if (packet.info().operation == Operation::CompareSwap) {
            std::swap(packet.atomic.compare, packet.atomic.swap_or_add);
        }
    }
};

constexpr std::array kFirst{
    Mutant{.name = "read_of_whole_packets_ends_in_middle",
           .rule = "RDR-01",
           .description = "The response of a READ whose length is a multiple of the MTU, and more "
                          "than one, ends in a MIDDLE.",
           .make_filter = make<WholePacketsEndInMiddle>},
    Mutant{.name = "last_of_long_read_has_old_msn",
           .rule = "RDR-03",
           .description = "The LAST of a READ response with MIDDLEs has an MSN that does not count "
                          "the READ.",
           .cases = "rdr/reads-on-four-qps",
           .make_filter = make<LastOfLongReadHasOldMsn>},
    Mutant{.name = "second_read_uses_first_address",
           .rule = "RDR-01",
           .description = "A READ that comes while another is not wholly answered brings the bytes "
                          "of that one.",
           .make_filter = make<SecondReadUsesFirstAddress>},
    Mutant{.name = "read_pad_not_zero",
           .rule = "BTH-09",
           .level = "SHOULD",
           .description = "The pad bytes of READ responses are not zero.",
           .make_filter = make<PadsWithRest>},
    Mutant{.name = "empty_read_is_acked",
           .rule = "LEN-07",
           .description = "A READ of no bytes is answered by an ACK, not by a READ response.",
           .make_filter = make<EmptyReadIsAcked>},
    Mutant{.name = "read_response_skips_psn_zero",
           .rule = "RDR-02",
           .description = "A READ response that crosses the wrap goes on with PSN 1.",
           .make_filter = make<SkipsPsnZero>},
    Mutant{.name = "read_length_in_sixteen_bits",
           .rule = "RDR-01",
           .description = "A READ of more than 64 KiB brings the rest of its length by 64 KiB.",
           .cases = "rdr/above-64k",
           .make_filter = make<LengthInSixteenBits>},
    Mutant{.name = "read_tail_offset_in_sixteen_bits",
           .rule = "RDR-05",
           .description = "A READ that repeats a tail 64 KiB or more behind its beginning brings "
                          "the bytes 64 KiB before.",
           .cases = "rdr/tail-beyond-64k",
           .behaviour = {.duplicate_read = engine::DuplicateRead::Revalidated},
           .make_filter = make<TailOffsetInSixteenBits>},
    Mutant{.name = "ack_overtakes_last_read_response",
           .rule = "RDR-11",
           .description = "The ACK of a SEND behind a READ leaves before the READ's LAST.",
           .make_filter = make<AckOvertakesLastResponse>},
    Mutant{.name = "duplicate_swap_reads_again",
           .rule = "ATM-04",
           .description = "A duplicate CMP_SWAP is answered with what memory holds now.",
           .cases = "atm/operands",
           .make_filter = make<DuplicateSwapReadsAgain>},
    Mutant{.name = "fetch_add_loses_carry",
           .rule = "ATM-08",
           .description = "FETCH_ADD adds the two halves of 32 bits without the carry.",
           .make_filter = make<AddsHalves>},
    Mutant{.name = "swap_compares_low_half",
           .rule = "ATM-08",
           .description = "CMP_SWAP compares the lower 32 bits alone.",
           .make_filter = make<ComparesLowHalf>},
    Mutant{.name = "failed_swap_answers_compare",
           .rule = "ATM-01",
           .description = "A CMP_SWAP that does not swap is answered with its own compare value.",
           .make_filter = make<FailedSwapAnswersCompare>},
};

constexpr std::array kSecond{
    Mutant{.name = "unaligned_read_repeats_page",
           .rule = "RDR-01",
           .description = "A READ response that crosses a page, and does not begin at a multiple "
                          "of 64, brings the first page's bytes again for the second.",
           .cases = "rdr/two-at-once",
           .make_filter = make<RepeatsPage>},
    Mutant{.name = "short_read_tail_is_first",
           .rule = "RDR-01",
           .description = "A READ that repeats the last packet of an earlier one is answered by a "
                          "FIRST.",
           .make_filter = make<ShortTailIsFirst>},
    Mutant{.name = "failed_swap_not_counted",
           .rule = "ATM-10",
           .description = "The MSN of a CMP_SWAP that does not swap does not count it.",
           .make_filter = make<FailedSwapNotCounted>},
    Mutant{.name = "resent_swap_has_operands_exchanged",
           .rule = "REQ-31",
           .description = "A CMP_SWAP that is sent again has its two operands exchanged.",
           .make_filter = make<ResentSwapIsSwapped>},
};

} // namespace
} // namespace veriroce::mutants::of_blind_reads

namespace veriroce::mutants {

std::span<const Mutant> blind_reads() {
    return of_blind_reads::kFirst;
}

std::span<const Mutant> blind2_reads() {
    return of_blind_reads::kSecond;
}

} // namespace veriroce::mutants
