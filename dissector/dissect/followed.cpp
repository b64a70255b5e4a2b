#include "dissector/dissect/followed.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "dissector/dissect/number.hpp"

namespace veriroce::dissect {
namespace {

std::optional<wire::Qpn> qpn_of(std::string_view text) {
    const auto value = number_of(text, wire::kMask24);
    if (!value) return std::nullopt;
    return wire::Qpn{static_cast<std::uint32_t>(*value)};
}

} // namespace

std::expected<Followed, std::string> Followed::parse(std::string_view word) {
    const std::string wrong =
        fmt::format("expected ADDRESS:QP, 0xQP or the number of a connection, got '{}'", word);
    Followed followed;
    const std::size_t colon = word.rfind(':');
    if (colon == std::string_view::npos && !word.starts_with("0x")) {
        followed.connection_ = number_of(word, UINT64_MAX).value_or(0);
        if (followed.connection_ == 0) return std::unexpected(wrong);
        return followed;
    }
    followed.qpn_ = qpn_of(colon == std::string_view::npos ? word : word.substr(colon + 1));
    if (!followed.qpn_) return std::unexpected(wrong);
    if (colon == std::string_view::npos) return followed;
    std::string_view address = word.substr(0, colon);
    if (address.starts_with('[') && address.ends_with(']')) {
        address = address.substr(1, address.size() - 2);
    }
    followed.address_ = wire::IpAddress::parse(address);
    if (!followed.address_) return std::unexpected(wrong);
    return followed;
}

std::string Followed::Qp::text() const {
    return fmt::format("{} QP 0x{:06x}", address.text(), qpn.value);
}

void Followed::begin_file() {
    named_.reset();
    others_.clear();
    paths_.clear();
    fresh_ = named_right_ = true;
}

// The end that the user means, if it is one of these.
void Followed::choose(const flow::Connection& connection) {
    const auto end = [&](std::size_t i) {
        return Qp{connection.ends[i].address, *connection.ends[i].qpn};
    };
    if (connection_ != 0) {
        // Whatever becomes of the connection later, end 1 is known from its first packet on.
        if (!named_ && connection.id == connection_) named_ = end(1);
        return;
    }
    for (std::size_t i = 0; i < connection.ends.size(); ++i) {
        if (connection.ends[i].qpn != qpn_) continue;
        if (address_ && !(connection.ends[i].address == *address_)) continue;
        const Qp qp = end(i);
        if (!named_) named_ = qp;
        const bool known = *named_ == qp || std::ranges::find(others_, qp) != others_.end();
        if (!known && others_.size() < kMostCandidates) others_.push_back(qp);
    }
}

void Followed::learn(const flow::Connection& connection) {
    choose(connection);
    if (!named_) return;
    for (std::size_t i = 0; i < connection.ends.size(); ++i) {
        const flow::End& end = connection.ends[i];
        const flow::End& other = connection.ends[1 - i];
        if (end.qpn != named_->qpn || !(end.address == named_->address)) continue;
        add({other.address, end.address, end.qpn->value}, true);
        if (other.qpn) add({end.address, other.address, other.qpn->value}, false);
        return;
    }
}

void Followed::add(const flow::Path& path, bool to_named) {
    if (std::ranges::find(paths_, path, &Direction::path) != paths_.end()) return;
    if (paths_.size() < kMostPaths) paths_.push_back({path, to_named});
}

std::vector<std::string> Followed::candidates() const {
    std::vector<std::string> names;
    for (const Qp& qp : others_) {
        const bool partner = std::ranges::any_of(paths_, [&](const Direction& one) {
            return one.path.destination == qp.address && one.path.qpn == qp.qpn.value;
        });
        if (!partner) names.push_back(qp.text());
    }
    if (!names.empty()) names.insert(names.begin(), named_->text());
    return names;
}

const Followed::Direction* Followed::path_of(const decode::Dissection& dissection) const {
    if (!dissection.has_bth) return nullptr;
    const auto source = dissection.source();
    const auto destination = dissection.destination();
    if (!source || !destination) return nullptr;
    const flow::Path path{*source, *destination, dissection.packet.bth.dest_qp.value};
    const auto found = std::ranges::find(paths_, path, &Direction::path);
    return found == paths_.end() ? nullptr : &*found;
}

bool Followed::to_right(const decode::Dissection& dissection) {
    const bool to_named = path_of(dissection)->to_named;
    if (fresh_) named_right_ = to_named == dissection.info().request();
    fresh_ = false;
    return to_named == named_right_;
}

std::string Followed::name_of(bool named) const {
    const auto known = std::ranges::find(paths_, named, &Direction::to_named);
    if (known != paths_.end()) {
        return Qp{known->path.destination, {known->path.qpn}}.text();
    }
    // No packet to it was seen.
    return paths_.front().path.source.text();
}

} // namespace veriroce::dissect
