#include "conformance/interpreter/management.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <string_view>

#include "conformance/interpreter/attributes.hpp"
#include "conformance/interpreter/clock.hpp"
#include "conformance/interpreter/environment.hpp"
#include "conformance/interpreter/events.hpp"
#include "conformance/interpreter/interpreter.hpp"
#include "conformance/interpreter/notation.hpp"
#include "conformance/interpreter/objects.hpp"
#include "conformance/interpreter/record.hpp"
#include "conformance/interpreter/send.hpp"
#include "conformance/script/mad_fields.hpp"
#include "dissector/decode/mad.hpp"
#include "dissector/wire/connection_message.hpp"
#include "dissector/wire/management.hpp"

namespace veriroce::interpreter {
namespace {

constexpr int kQuestions = 3;
// Of the IP CM service, TCP's port space, port 1, on which no device listens.
constexpr std::int64_t kIpService = 0x0000'0000'0106'0001;

struct Default {
    std::string_view field;
    std::uint64_t value = 0;
};
// Of the fields that are not zero and the same in every message; a message has those that it has.
constexpr std::array kDefaults{
    Default{"mad.baseversion", 1},
    Default{"mad.mgmtclass", wire::kCmClass},
    Default{"mad.classversion", 2},
    Default{"mad.method", 3},                       // Send
    Default{"cm.serviceid", 0x7665'7269'726F'6365}, // nobody's
    Default{"cm.localcaguid", 0x0200'00FF'FE00'0001},
    Default{"cm.responderres", 1},
    Default{"cm.respres", 1},
    Default{"cm.initdepth", 1},
    Default{"cm.remoteresptout", 20},
    Default{"cm.localresptout", 20},
    Default{"cm.retrcount", 7},
    Default{"cm.rnrretrcount", 7},
    Default{"cm.maxcmretr", 15},
    Default{"cm.pkey", wire::kDefaultPkey.value},
    Default{"cm.prim_hoplim", 64},
    Default{"cm.prim_subnetlocal", 1},
    Default{"cm.prim_localacktout", 14},
    Default{"cm.alt_hoplim", 64},
    Default{"cm.alt_localacktout", 14},
};

// The QP that a REQ is about: the first one that is not connected, or the case's own.
const CaseQp& qp_to_connect(const Objects& objects) {
    const auto waits = std::ranges::find_if(objects.qps, [](const auto& one) {
        return one.second.state == engine::QpState::Reset && !one.second.gsi;
    });
    return waits == objects.qps.end() ? objects.own_qp() : waits->second;
}

// What the tester's end of the QP has, and expects of the DUT's.
void put_attributes(std::vector<std::byte>& request, const CaseQp& qp,
                    const Environment& environment) {
    const auto put = [&](std::string_view name, std::int64_t value) {
        put_mad_field(request, *script::mad_field(wire::cm::kReq, name),
                      static_cast<std::uint64_t>(value));
    };
    const dut::QpAttributes rtr = step_to(engine::QpState::Rtr, qp, environment);
    const dut::QpAttributes rts = step_to(engine::QpState::Rts, qp, environment);
    put("cm.initdepth", rtr.max_dest_rd_atomic.value_or(1));
    put("cm.responderres", rts.max_rd_atomic.value_or(1));
    put("cm.prim_localacktout", rts.timeout.value_or(0));
    put("cm.retrcount", rts.retry_cnt.value_or(0));
    put("cm.rnrretrcount", rts.rnr_retry.value_or(0));
}

// The private data that the IP CM service begins with: versions, a port, and both addresses.
void put_ip_service(std::vector<std::byte>& request, const CaseQp& gsi,
                    const Environment& environment) {
    constexpr std::uint16_t port = 49152;
    const std::size_t at = script::mad_field(wire::cm::kReq, "cm.private")->bit / 8;
    const wire::MutableBytes header = wire::MutableBytes(request).subspan(at);
    const auto put_address = [&](std::size_t to, const wire::IpAddress& address) {
        const std::size_t first = address.v4() ? 12 : 0;
        std::ranges::copy(std::span(address.bytes).subspan(first),
                          header.subspan(to + first).begin());
    };
    header[1] = static_cast<std::byte>(gsi.tester_address.v4() ? 0x40 : 0x60);
    wire::store_be<2>(header, 2, port);
    put_address(4, gsi.tester_address);
    put_address(20, environment.dut_address);
}

enum class Answer : std::uint8_t { None, Wait, Last };

// What has come of the DUT, be it to a wrong QP or UDP port: what is wrong about it is for the
// lines. An MRA asks for patience (CM-10): the answer follows.
Answer answer_in(const Record& record) {
    if (record.to_another_port) return Answer::Last;
    Answer found = Answer::None;
    for (std::size_t i = 0; i < record.size(); ++i) {
        const Entry& entry = record[i];
        if (entry.from != Side::Dut || !entry.packet ||
            entry.packet->info().service != wire::Service::Ud)
            continue;
        if (management_of(*entry.packet) != wire::cm::kMra) return Answer::Last;
        found = Answer::Wait;
    }
    return found;
}

// A REQ for a service that the device does not offer.
script::SendPacket question(bool of_ip_service) {
    script::SendPacket made{.qp = {.name = std::string(script::kGsiName)},
                            .kind = script::Management{wire::cm::kReq}};
    if (of_ip_service) {
        made.fields.push_back({.field = *script::mad_field(wire::cm::kReq, "cm.serviceid"),
                               .value = script::Expr{.number = kIpService},
                               .span = {}});
    }
    return made;
}

// The first question of a case and its answer. A device that answers one kind of service alone has
// connection management; what is wrong about that is for the lines, too.
Task<Met<>> ask_for_a_service(Interpreter& interpreter, CaseQp& gsi) {
    for (int i = 0; i < kQuestions; ++i) {
        co_await play(interpreter, question(i == 1), {});
        const wire::Instant deadline =
            interpreter.clock().now() + interpreter.environment().patience;
        while (answer_in(interpreter.record()) != Answer::Last &&
               interpreter.clock().now() < deadline)
            co_await interpreter.events().wait(deadline);
        if (answer_in(interpreter.record()) == Answer::None) continue;
        // An answer to an earlier question may still come.
        if (i > 0)
            co_await interpreter.events().sleep(interpreter.clock().now() +
                                                interpreter.environment().settle);
        gsi.next = gsi.heard.size();
        gsi.in_run = false;
        co_return Met<>{};
    }
    co_return unsupported({}, "needs connection management: the device answers no REQ at QP 1");
}

} // namespace

void put_mad_field(std::vector<std::byte>& datagram, const script::MadField& field,
                   std::uint64_t value) {
    for (std::size_t i = 0; i < field.bits; ++i) {
        const std::size_t at = field.bit + field.bits - 1U - i;
        const auto bit = static_cast<std::byte>(0x80U >> at % 8);
        std::byte& one = datagram[at / 8];
        one = (value >> i & 1U) != 0 ? one | bit : one & ~bit;
    }
}

std::vector<std::byte> honest_datagram(std::uint16_t attribute, const Objects& objects,
                                       const Environment& environment, const CaseQp& gsi) {
    std::vector<std::byte> datagram(wire::kMadBytes);
    const auto put = [&](std::string_view name, std::uint64_t value) {
        if (const auto field = script::mad_field(attribute, name))
            put_mad_field(datagram, *field, value);
    };
    const auto put_gid = [&](std::string_view name, const wire::IpAddress& address) {
        if (const auto field = script::mad_field(attribute, name))
            std::ranges::copy(address.bytes, datagram.begin() + field->bit / 8);
    };
    for (const Default& one : kDefaults)
        put(one.field, one.value);
    put("mad.attributeid", attribute);
    // New in each message, and in each case as long as the tester's QPNs are.
    const CaseQp& own = qp_to_connect(objects);
    const QpIdentity& identity = own.book.identity();
    const std::uint64_t id =
        std::uint64_t{identity.tester_qpn.value} << 8U | (gsi.entries.size() & 0xFFU);
    put("mad.transactionid", std::uint64_t{0x7665'7269} << 32U | id);
    put("cm.localcommid", id);
    put("cm.requestid", id);
    put("cm.localqpn", identity.tester_qpn.value);
    put("cm.remoteqpneecn", identity.dut_qpn.value);
    put("cm.remoteqpn", identity.dut_qpn.value);
    put("cm.startpsn", identity.dut_start.value());
    put("cm.pppmtu", wire::cm::code_of(identity.mtu));
    for (const std::string_view name : {"cm.prim_localgid", "cm.alt_localgid"})
        put_gid(name, gsi.tester_address);
    for (const std::string_view name : {"cm.prim_remotegid", "cm.alt_remotegid"})
        put_gid(name, environment.dut_address);
    if (objects.listener && attribute == wire::cm::kReq) {
        put("cm.serviceid", objects.listener->service);
        put_attributes(datagram, own, environment);
        put_ip_service(datagram, gsi, environment);
    }
    if (const auto& replied = objects.cm.replied(); replied && attribute != wire::cm::kReq) {
        put("cm.localcommid", objects.cm.asked()->own);
        put("cm.remotecommid", replied->peer);
        put("cm.remoteqpneecn", replied->qpn.value);
        if (attribute == wire::cm::kDrep) {
            put("mad.transactionid", objects.cm.disconnects().value_or(0));
        } else if (attribute != wire::cm::kDreq) {
            put("mad.transactionid", objects.cm.asked()->transaction);
        }
    }
    return datagram;
}

Task<Met<>> connect_gsi(Interpreter& interpreter) {
    Objects& objects = interpreter.objects();
    const CaseQp& own = objects.own_qp();
    CaseQp gsi{.book = QpBook({.name = std::string(script::kGsiName),
                               .dut_qpn = wire::kGsiQpn,
                               .tester_qpn = wire::kGsiQpn,
                               .dut_start = {},
                               .tester_start = own.book.identity().tester_start,
                               .mtu = own.book.identity().mtu,
                               .service = wire::Service::Ud}),
               .setup = {.name = std::string(script::kGsiName)},
               .type = engine::QpType::Ud,
               .tester_address = own.tester_address,
               .dut_qp = {std::numeric_limits<std::uint64_t>::max()},
               .engine_qp = {std::numeric_limits<std::uint32_t>::max()},
               .gsi = true};
    gsi.setup.attributes.push_back(
        {.name = "qkey", .value = script::Expr{.number = wire::kGsiQkey.value}, .span = {}});
    CaseQp& placed = objects.qps.emplace(script::kGsiName, std::move(gsi)).first->second;
    co_await ask_for_a_service(interpreter, placed);
    co_return Met<>{};
}

} // namespace veriroce::interpreter
