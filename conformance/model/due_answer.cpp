#include "conformance/model/due_answer.hpp"

#include <algorithm>

#include "conformance/model/clear_packet.hpp"

namespace veriroce::model {
namespace {

using Kind = DueAnswer::Kind;
using wire::NakCode;
using wire::Operation;
using wire::Position;

constexpr std::uint64_t kLongestMessage = std::uint64_t{1} << 31; // LEN-05

// The model knows what the opcode means, and every device serves it.
bool is_plain(const wire::OpcodeInfo& info) {
    const bool known = info.operation == Operation::Send ||
                       info.operation == Operation::RdmaWrite ||
                       info.operation == Operation::RdmaReadRequest || is_atomic(info.operation);
    return known && info.service == wire::Service::Rc && !info.reserved() && !info.invalidates();
}

class Examination {
  public:
    Examination(const Story& story, const Packet& packet, const OpenMessage& before, const Qp& qp,
                Registered& memory)
        : story_(story), request_(*packet.packet), info_(request_.info()), before_(before), qp_(qp),
          memory_(memory) {}

    DueAnswer run(const Receives& receives, std::size_t open_answers) {
        order();
        length();
        rights();
        if (is_message()) {
            message(receives);
        } else {
            single(open_answers);
        }
        if (open_) {
            due_.kind = Kind::Open;
        } else if (faulty_) {
            due_.kind = Kind::Refuse;
        } else if (needs_receive() && receives.state == Receive::Unknown) {
            due_.kind = Kind::Open;
        } else if (needs_receive() && receives.state == Receive::Missing) {
            due_.kind = Kind::Wait;
        } else {
            due_.kind = Kind::Accept;
        }
        // Which of the two comes first is the device's choice.
        const bool both =
            due_.kind == Kind::Refuse && needs_receive() && receives.state != Receive::There;
        if (both) due_.kind = Kind::Open;
        due_.context_known = due_.kind != Kind::Refuse;
        return due_;
    }

  private:
    void fault(NakCode code, std::string_view rule, std::string_view why) {
        due_.codes.add(code);
        if (!faulty_) {
            due_.rule = rule;
            due_.why = why;
        }
        faulty_ = true;
    }
    // A fault that the device may find at this packet or at a later one of the message.
    void early_fault(NakCode code) {
        due_.codes.add(code);
        open_ = true;
    }

    [[nodiscard]] bool is_message() const {
        return info_.operation == Operation::Send || info_.operation == Operation::RdmaWrite;
    }
    [[nodiscard]] bool needs_receive() const {
        return info_.operation == Operation::Send ? info_.starts_message()
                                                  : info_.immediate() && info_.ends_message();
    }
    [[nodiscard]] std::uint64_t payload() const { return request_.payload().size(); }

    void order() {
        const bool starts = !is_message() || info_.starts_message();
        if (starts && before_.open) {
            fault(NakCode::InvalidRequest, is_message() ? "OPC-10" : "OPC-04",
                  "the message before it is not finished");
        } else if (!starts && !before_.open) {
            fault(NakCode::InvalidRequest, "OPC-03", "no message is open");
        } else if (!starts && before_.operation != info_.operation) {
            fault(NakCode::InvalidRequest, "OPC-05", "it continues a message of another operation");
        }
    }

    void length() {
        if (!is_message()) {
            if (!request_.body.empty()) open_ = true; // ATM-07
            return;
        }
        const std::uint64_t mtu = wire::bytes_of(qp_.mtu());
        due_.may_be_lost = payload() > mtu;
        if (!info_.ends_message() && payload() != mtu) {
            fault(NakCode::InvalidRequest, "LEN-01", "its payload is not one path MTU");
        } else if (payload() > mtu) {
            fault(NakCode::InvalidRequest, info_.starts_message() ? "LEN-03" : "LEN-02",
                  "its payload is more than one path MTU");
        } else if (info_.position == Position::Last && payload() == 0) {
            fault(NakCode::InvalidRequest, "LEN-02", "its payload is empty");
        }
        // BTH-10: some devices ignore the pad count there.
        if (!info_.ends_message() && request_.bth.pad != 0) due_.level = rules::Level::Should;
    }

    void rights() {
        if (info_.operation == Operation::Send) return;
        if (!qp_.attributes.access) {
            open_ = true;
            return;
        }
        const wire::Access& access = *qp_.attributes.access;
        const bool may = info_.operation == Operation::RdmaWrite         ? access.remote_write
                         : info_.operation == Operation::RdmaReadRequest ? access.remote_read
                                                                         : access.remote_atomic;
        if (!may) fault(NakCode::InvalidRequest, "KEY-01", "the QP does not allow the operation");
    }

    // Refused if `named` bytes at the address must be reached now.
    void key(wire::Rkey rkey, std::uint64_t address, std::uint64_t bytes,
             bool wire::Access::* right, bool now) {
        if (bytes == 0) return;
        due_.rkey = rkey;
        const auto target = memory_.target(rkey, address, bytes, qp_.pd, right);
        const bool settled = memory_.settled(rkey) && !memory_.of_another(rkey, qp_.handle);
        if (target && target->whole) {
            if (!settled) open_ = true;
            return;
        }
        const KeyFault found = target ? KeyFault::Outside : target.error();
        if (!settled) {
            due_.codes.add(NakCode::RemoteAccess);
            open_ = true;
        } else if (now) {
            fault(NakCode::RemoteAccess, rule_of(found), text_of(found));
        } else {
            early_fault(NakCode::RemoteAccess);
        }
    }

    static std::string_view text_of(KeyFault fault) {
        switch (fault) {
        case KeyFault::Unknown: return "its R_Key does not exist";
        case KeyFault::OtherDomain: return "its R_Key belongs to another protection domain";
        case KeyFault::NoRight: return "the region does not allow the operation";
        case KeyFault::Outside: return "it reaches outside the region";
        }
        return "";
    }

    void too_long(std::uint64_t bytes) {
        const std::uint64_t most = story_.setting.dut.max.msg_bytes;
        if (bytes > kLongestMessage) {
            due_.codes.add(NakCode::RemoteAccess);
            fault(NakCode::InvalidRequest, "LEN-05", "it is longer than 2^31 bytes");
        } else if (most > 0 && bytes > most) { // LEN-11
            due_.codes.add(NakCode::RemoteAccess);
            early_fault(NakCode::InvalidRequest);
        }
    }

    void message(const Receives& receives) {
        const bool starts = info_.starts_message();
        const std::uint64_t total = (starts ? 0 : before_.bytes) + payload();
        if (info_.operation == Operation::Send) {
            if (receives.work == nullptr) {
                // The receive may be too short, or faulty.
                if (receives.state != Receive::Missing) open_ = true;
            } else if (!is_sound(*receives.work)) {
                open_ = true; // KEY-12
            } else if (total > receives.work->bytes() && receives.shared) {
                early_fault(NakCode::InvalidRequest); // a longer one may take it
            } else if (total > receives.work->bytes()) {
                fault(NakCode::InvalidRequest, "LEN-06", "it is longer than its receive");
            }
            return;
        }
        if (!starts && (!before_.open || before_.operation != info_.operation)) return;
        const wire::Reth& reth = starts ? request_.reth : before_.reth;
        if (starts) too_long(reth.dma_length);
        if (reth.dma_length == 0 && total > 0) open_ = true; // LEN-04
        if (info_.ends_message() && total != reth.dma_length) {
            fault(NakCode::InvalidRequest, "LEN-04", "its payloads do not add up to its length");
        } else if (!info_.ends_message() && total >= reth.dma_length) {
            early_fault(NakCode::InvalidRequest);
        }
        const auto right = &wire::Access::remote_write;
        const std::uint64_t done = total - payload();
        key(reth.rkey, reth.virtual_address + done, payload(), right, true);
        if (faulty_) {
            // LEN-04: what it announces may be out of range as well.
            const auto target =
                memory_.target(reth.rkey, reth.virtual_address, reth.dma_length, qp_.pd, right);
            if (!target || !target->whole) due_.codes.add(NakCode::RemoteAccess);
            return;
        }
        // KEY-05: the NAK comes at the FIRST or at the first packet out of range.
        key(reth.rkey, reth.virtual_address, reth.dma_length, right, false);
    }

    void single(std::size_t open_answers) {
        if (info_.operation == Operation::RdmaReadRequest) {
            too_long(request_.reth.dma_length);
            key(request_.reth.rkey, request_.reth.virtual_address, request_.reth.dma_length,
                &wire::Access::remote_read, true);
        } else {
            if (request_.atomic.virtual_address % kAtomicBytes != 0) {
                fault(NakCode::InvalidRequest, "ATM-02", "its address is not a multiple of 8");
            }
            key(request_.atomic.rkey, request_.atomic.virtual_address, kAtomicBytes,
                &wire::Access::remote_atomic, true);
            if (story_.setting.dut.atomic == "NONE") early_fault(NakCode::InvalidRequest);
        }
        // RDR-09, RDR-10
        const std::size_t most = qp_.attributes.max_dest_rd_atomic.value_or(0);
        if (open_answers >= most) early_fault(NakCode::InvalidRequest);
    }

    // Whether the device itself may write to all of the receive.
    [[nodiscard]] bool is_sound(const ReceiveWork& work) const {
        return std::ranges::all_of(work.request.sge, [&](const dut::Sge& one) {
            return memory_.device_may_write(one, qp_.pd);
        });
    }

    const Story& story_;
    const wire::Packet& request_;
    const wire::OpcodeInfo& info_;
    const OpenMessage& before_;
    const Qp& qp_;
    Registered& memory_;
    DueAnswer due_;
    bool faulty_ = false;
    bool open_ = false;
};

} // namespace

DueAnswer due_answer(const Story& story, const Packet& packet, const OpenMessage& before,
                     const Qp& qp, Registered& memory, const Receives& receives,
                     std::size_t open_answers) {
    const bool decided =
        before.sure && is_plain(packet.packet->info()) && is_clear(story, packet, qp);
    if (!decided) return {};
    return Examination(story, packet, before, qp, memory).run(receives, open_answers);
}

} // namespace veriroce::model
