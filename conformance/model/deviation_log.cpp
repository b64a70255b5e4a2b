#include "conformance/model/deviation_log.hpp"

#include <utility>

namespace veriroce::model {

void DeviationLog::add(Deviation deviation, wire::Qpn qp) {
    const auto [known, fresh] =
        known_.try_emplace(Key(deviation.rule, deviation.field, qp), all_.size());
    if (fresh) {
        all_.push_back(std::move(deviation));
        return;
    }
    std::vector<std::size_t>& packets = all_[known->second].packets;
    for (const std::size_t packet : deviation.packets) {
        if (packets.size() < kMostPackets) packets.push_back(packet);
    }
}

void PacketLog::add(std::string_view rule, rules::Level level, std::string_view field,
                    std::string allowed, std::string measured, rules::FindingClass kind) {
    log_.add({.rule = std::string(rule),
              .level = level,
              .kind = kind,
              .field = std::string(field),
              .allowed = std::move(allowed),
              .measured = std::move(measured),
              .packets = {number_}},
             qp_);
}

} // namespace veriroce::model
