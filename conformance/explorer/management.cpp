// CM-06, CM-09, N-30, N-32: what a stranger asks of the host's connection management beside the
// QPs.
#include "conformance/explorer/talk.hpp"

#include <array>

#include <fmt/format.h>

namespace veriroce::explorer {

void greet(Sketch& sketch, Qp& /*qp*/) {
    constexpr std::array<std::string_view, 7> strays{"CM_MRA",  "CM_RTU", "CM_REP",     "CM_REJ",
                                                     "CM_DREP", "CM_APR", "CM_SIDR_REP"};
    constexpr std::array<std::string_view, 4> damages{"qkey=0x1234", "icrc=bad",
                                                      "mad.baseversion=2", "len=100"};
    constexpr std::array<std::string_view, 4> forms{"mad.classversion=1", "mad.classversion=3",
                                                    "mad.baseversion=2", "qkey=0x1234"};
    sim::Random& random = sketch.random();
    const std::uint64_t transaction = random.next();
    const auto message = [&](std::string_view kind) {
        return fmt::format("> {} mad.transactionid=0x{:X}", kind, transaction);
    };
    std::uint64_t mine = 1 + (random.next() >> 32);
    sketch.pass(kSilence);
    switch (random.below(7)) {
    case 0: return sketch.say(message(random.pick(strays)));
    case 1: // a connection that it does not know
        sketch.say(message("CM_DREQ") + fmt::format(" cm.localcommid={} cm.remotecommid={}", mine,
                                                    1 + (random.next() >> 32)));
        // Both numbers come back.
        return sketch.say(fmt::format(
            fmt::runtime(sketch.percent(50)
                             ? "no CM_DREP cm.remotecommid={} mad.transactionid!=0x{:X}"
                             : "no CM_DREP cm.remotecommid!={} mad.transactionid=0x{:X}"),
            mine, transaction));
    case 2: return sketch.say(message("CM_SIDR_REQ") + fmt::format(" cm.requestid={}", mine));
    case 3: return sketch.say(message("CM_REQ") + fmt::format(" {}", random.pick(damages)));
    case 4: // N-31, CM-11: no end of a connection, in a form that it does not know
        sketch.say(message("CM_DREQ") + fmt::format(" {}", random.pick(forms)));
        return sketch.say(fmt::format("no CM_DREP mad.transactionid=0x{:X}", transaction));
    default: break;
    }
    std::string line = message("CM_REQ") + fmt::format(" cm.localcommid={}", mine);
    // Communication IDs are numbers of each adapter.
    if (sketch.percent(30)) {
        const std::uint64_t guid = 0x0200'00FF'FE00'0000 + random.below(0x100000);
        line = message("CM_REQ") + fmt::format(" cm.localcommid=0x77 cm.localcaguid=0x{:X}", guid);
        mine = 0x77;
    }
    // N-33: reserved, where there are no LIDs.
    constexpr std::array<std::string_view, 2> lids{"cm.prim_locallid", "cm.prim_remotelid"};
    if (sketch.percent(20)) {
        const std::string_view lid = random.pick(lids);
        line = with_option(std::move(line), fmt::format("{}={}", lid, random.below(100)));
    }
    if (sketch.percent(40))
        line = with_option(std::move(line),
                           fmt::format("udp.sport={}", 49'152 + random.below(16'384)));
    if (sketch.percent(30))
        line = with_option(std::move(line), fmt::format("ip.dscp={}", random.below(64)));
    sketch.say(std::move(line));
    sketch.say(fmt::format("< CM_REJ mad.transactionid=0x{:X} cm.remotecommid={} cm.reason=8",
                           transaction, mine));
}

} // namespace veriroce::explorer
