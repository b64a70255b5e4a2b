#include "conformance/script_import/duties.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace veriroce::script_import {

void Duties::expect(Duty duty) {
    // ACK-03: one ACK may cover several requests.
    const bool covers =
        !duties_.empty() && duty.kind == Duty::Kind::Ack && duties_.back().kind == Duty::Kind::Ack;
    if (covers) {
        duties_.back().psn = std::max(duties_.back().psn, duty.psn);
    } else {
        duties_.push_back(std::move(duty));
    }
}

void Duties::flush(std::int64_t up_to) {
    while (!duties_.empty() && duties_.front().psn <= up_to) {
        write(duties_.front());
        duties_.pop_front();
    }
}

void Duties::forget_data() {
    for (Duty& duty : duties_)
        duty.data.clear();
}

std::size_t Duties::reads_asked() const {
    return static_cast<std::size_t>(std::ranges::count_if(duties_, [](const Duty& duty) {
        return duty.kind == Duty::Kind::Read || duty.kind == Duty::Kind::Atomic ||
               duty.kind == Duty::Kind::Empty;
    }));
}

void Duties::write(const Duty& duty) {
    const auto line = [&](std::string_view name) {
        draft_.line(fmt::format("< {} psn={}{}{}", name, duty.psn, duty.match, duty.data));
    };
    switch (duty.kind) {
    case Duty::Kind::Ack:
        draft_.rule("ACK-01");
        line("ACK");
        break;
    case Duty::Kind::Nak: line("NAK"); break;
    case Duty::Kind::RnrNak: line("RNR_NAK"); break;
    case Duty::Kind::Read:
        draft_.rule("RDR-01");
        draft_.rule("RDR-02");
        line("RDMA_READ_RESPONSE");
        break;
    case Duty::Kind::Atomic:
        draft_.rule("ATM-01");
        line("ATOMIC_ACKNOWLEDGE");
        break;
    case Duty::Kind::Empty:
        draft_.rule("EXT-02");
        line("RDMA_READ_RESPONSE_ONLY");
        break;
    }
    if (duty.kind != Duty::Kind::Nak && duty.kind != Duty::Kind::RnrNak) {
        covered_ = std::max(covered_, duty.psn);
    }
}

} // namespace veriroce::script_import
