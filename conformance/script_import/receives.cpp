#include "conformance/script_import/receives.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace veriroce::script_import {

using wire::Operation;

void Receives::begin() {
    room_ = draft_.room();
    count_ = 0;
    bytes_ = 0;
    first_ = last_ + 1;
}

void Receives::end() {
    if (count_ > 0) {
        const std::string bytes = bytes_ == 0 ? "" : fmt::format(" len={}", bytes_);
        draft_.fill(room_, "dut recv " + ids(first_, last_) + bytes);
    }
    std::uint64_t id = first_done_;
    for (std::size_t i = 0; i < received_.size();) {
        std::size_t same = i + 1;
        while (same < received_.size() && received_[same] == received_[i])
            ++same;
        const std::string imm =
            received_[i].imm ? fmt::format(" imm=0x{:08X}", *received_[i].imm) : std::string();
        draft_.line(fmt::format("dut done recv {} len={}{}", ids(id, id + (same - i) - 1),
                                received_[i].bytes, imm));
        id += same - i;
        i = same;
    }
    first_done_ = id;
    received_.clear();
}

bool Receives::takes_one(const wire::OpcodeInfo& info) {
    return info.operation == Operation::Send ? info.starts_message() : info.immediate();
}

void Receives::use(const Event& event) {
    const wire::OpcodeInfo& info = event.info();
    const bool send = info.operation == Operation::Send;
    if (takes_one(info)) {
        ++count_;
        ++last_;
    }
    if (info.starts_message()) message_bytes_ = 0;
    message_bytes_ += event.payload_bytes;
    if (send) send_open_ = !info.ends_message();
    if (send) bytes_ = std::max(bytes_, message_bytes_);
    if (!info.ends_message() || !info.consumes_receive()) return;
    received_.push_back(
        {.bytes = message_bytes_,
         .imm = info.immediate() ? std::optional(event.packet.imm.value) : std::nullopt});
}

std::optional<std::uint64_t> Receives::in_use() const {
    return send_open_ ? std::optional(last_) : std::nullopt;
}

} // namespace veriroce::script_import
