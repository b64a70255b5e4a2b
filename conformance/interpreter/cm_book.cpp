#include "conformance/interpreter/cm_book.hpp"

#include <utility>

#include "conformance/interpreter/notation.hpp"
#include "conformance/script/mad_fields.hpp"
#include "dissector/wire/connection_message.hpp"

namespace veriroce::interpreter {
namespace {

std::uint64_t value_in(const wire::Packet& packet, std::uint16_t message, std::string_view name) {
    const auto field = script::mad_field(message, name);
    if (!field || field->bit + field->bits > packet.body.size() * 8) return 0;
    return wire::load_bits(packet.body, field->bit, field->bits);
}

} // namespace

void CmBook::note(Side from, const wire::Packet& packet) {
    const auto message = management_of(packet);
    if (!message) return;
    const auto value = [&](std::string_view name) { return value_in(packet, *message, name); };
    const auto number = [&](std::string_view name) {
        return static_cast<std::uint32_t>(value(name));
    };
    if (from == Side::Tester && *message == wire::cm::kReq) {
        const Asked asked{.transaction = value("mad.transactionid"),
                          .own = number("cm.localcommid")};
        if (connection_.asked == asked) return; // it comes again
        former_ = std::exchange(connection_, {.asked = asked, .replied = {}});
    } else if (from == Side::Dut && *message == wire::cm::kRej) {
        const bool latest = connection_.asked && !connection_.replied &&
                            number("cm.remotecommid") == connection_.asked->own;
        if (latest && former_.replied) connection_ = former_;
    } else if (from == Side::Dut && *message == wire::cm::kRep) {
        if (!asked() || number("cm.remotecommid") != asked()->own) return;
        connection_.replied = {.peer = number("cm.localcommid"),
                               .qpn = {number("cm.localqpn")},
                               .start_psn = wire::Psn(number("cm.startpsn"))};
    } else if (from == Side::Dut && *message == wire::cm::kDreq) {
        disconnects_ = value("mad.transactionid");
    }
}

} // namespace veriroce::interpreter
