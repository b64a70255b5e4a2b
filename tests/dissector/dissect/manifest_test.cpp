// Every committed capture against pcaps/manifest.tsv, whose figures were counted by another
// program.
#include <catch2/catch.hpp>

#include <map>
#include <set>

#include "tests/dissector/dissect/command.hpp"

using namespace veriroce::dissect;
using namespace veriroce::dissect::test;

namespace {

using Counts = std::map<std::string, std::size_t>;

// The manifest's names of kinds, by opcode, AETH syndrome and MAD attribute; typed here and
// nowhere else, so that the opcode table is held to it.
const std::map<unsigned, std::string> kOpcodes{
    {0x00, "RC_SEND_FIRST"},       {0x01, "RC_SEND_MIDDLE"},    {0x02, "RC_SEND_LAST"},
    {0x03, "RC_SEND_LAST_IMM"},    {0x04, "RC_SEND_ONLY"},      {0x05, "RC_SEND_ONLY_IMM"},
    {0x06, "RC_WRITE_FIRST"},      {0x07, "RC_WRITE_MIDDLE"},   {0x08, "RC_WRITE_LAST"},
    {0x0A, "RC_WRITE_ONLY"},       {0x0C, "RC_READ_REQ"},       {0x0D, "RC_READ_RESP_FIRST"},
    {0x0E, "RC_READ_RESP_MIDDLE"}, {0x0F, "RC_READ_RESP_LAST"}, {0x10, "RC_READ_RESP_ONLY"},
    {0x12, "RC_ATOMIC_ACK"},       {0x13, "RC_CMP_SWAP"},       {0x14, "RC_FETCH_ADD"},
    {0x20, "UC_SEND_FIRST"},       {0x21, "UC_SEND_MIDDLE"},    {0x22, "UC_SEND_LAST"},
    {0x64, "UD_SEND_ONLY"},        {0x65, "UD_SEND_ONLY_IMM"},
};
const std::map<std::string, std::string> kMessages{
    {"0x0010", "MAD_CM_REQ"}, {"0x0012", "MAD_CM_REJ"},  {"0x0013", "MAD_CM_REP"},
    {"0x0014", "MAD_CM_RTU"}, {"0x0015", "MAD_CM_DREQ"}, {"0x0016", "MAD_CM_DREP"},
};

std::string kind_of(const std::string& opcode, const std::string& syndrome,
                    const std::string& attribute) {
    if (!attribute.empty()) return kMessages.at(attribute);
    const auto code = static_cast<unsigned>(std::stoul(opcode));
    if (code != 0x11) return kOpcodes.at(code);
    const auto value = static_cast<unsigned>(std::stoul(syndrome));
    if (value < 0x20) return "RC_ACK";
    if (value < 0x40) return "RC_NAK_RNR";
    if (value == 0x60) return "RC_NAK_PSN_SEQ";
    if (value == 0x61) return "RC_NAK_INV_REQ";
    if (value == 0x62) return "RC_NAK_REM_ACCESS";
    return "?";
}

struct Seen {
    std::size_t frames = 0;
    std::size_t roce = 0;
    Counts kinds;
    Counts icrc;
};

Seen seen_in(const std::string& capture) {
    const Ran result = ran({.files = {pcap(capture)},
                            .format = Format::Fields,
                            .fields = {"infiniband.bth.opcode", "infiniband.aeth.syndrome",
                                       "infiniband.mad.attributeid", "roce.icrc.status"}});
    REQUIRE(result.code == 0);
    REQUIRE(result.err.empty());
    Seen seen;
    for (const std::string& line : lines_of(result.out)) {
        const auto fields = split(line, '\t');
        REQUIRE(fields.size() == 4);
        ++seen.frames;
        if (fields[0].empty()) continue;
        ++seen.roce;
        ++seen.kinds[kind_of(fields[0], fields[1], fields[2])];
        ++seen.icrc[fields[3]];
    }
    return seen;
}

Counts kinds_written(const std::string& text) {
    Counts counts;
    for (const std::string& item : split(text, ' ')) {
        const std::size_t colon = item.find(':');
        counts[item.substr(0, colon)] = std::stoul(item.substr(colon + 1));
    }
    return counts;
}

} // namespace

TEST_CASE("manifest: every capture holds what its row says", "[dissect]") {
    std::set<std::string> listed;
    for (const auto& row : rows_of(source_path("pcaps/manifest.tsv"))) {
        REQUIRE(row.size() == 5);
        INFO(row[0]);
        listed.insert(row[0]);
        const Seen seen = seen_in(row[0]);
        CHECK(seen.frames == std::stoul(row[1]));
        CHECK(seen.roce == std::stoul(row[2]));
        const std::size_t bad = std::stoul(row[3]);
        CHECK(seen.icrc == (bad == 0 ? Counts{{"good", seen.roce}}
                                     : Counts{{"bad", bad}, {"good", seen.roce - bad}}));
        CHECK(seen.kinds == kinds_written(row[4]));
    }
    for (const auto& entry : std::filesystem::directory_iterator(source_path("pcaps"))) {
        if (entry.path().extension() != ".pcap") continue;
        INFO(entry.path() << " has no row");
        CHECK(listed.contains(entry.path().filename().string()));
    }
    CHECK(listed.size() >= 18);
}

TEST_CASE("manifest: the captures that matter most have their known wrong ICRCs", "[dissect]") {
    CHECK(seen_in("rxe-write-corrupt.pcap").icrc["bad"] == 12);
    CHECK(seen_in("userspace-peer-rc.pcap").icrc["bad"] == 1);
}
