#include <catch2/catch.hpp>

#include <vector>

#include "dissector/capture/decoded_frames.hpp"
#include "dissector/flow/digest.hpp"
#include "dissector/flow/frame_packet.hpp"

using namespace veriroce;

TEST_CASE("frame packets: what is prepared is what the tracker would read", "[flow]") {
    std::size_t digests = 0;
    for (const char* name :
         {"rxe-write-corrupt", "rxe-uc-pingpong", "rxe-rping-cm-v6", "rxe-vlan"}) {
        auto reader =
            capture::Reader::open(std::string(VERIROCE_SOURCE_DIR "/pcaps/") + name + ".pcap");
        REQUIRE(reader);
        capture::DecodedFrames frames(std::move(*reader), {.decode = {}, .threads = 1});
        std::vector<flow::FramePacket> packets(capture::DecodedFrames::kMostTogether);
        for (auto some = frames.next(); !some.empty(); some = frames.next()) {
            flow::read_packets(some, packets);
            for (std::size_t i = 0; i < some.size(); ++i) {
                const auto packet = flow::packet_of(some[i]);
                REQUIRE(packets[i].there == packet.has_value());
                if (!packet) continue;
                const flow::Packet& prepared = packets[i].packet;
                CHECK(prepared.number == packet->number);
                CHECK(prepared.time == packet->time);
                CHECK((prepared.source == *some[i].source()));
                CHECK((prepared.destination == *some[i].destination()));
                CHECK(prepared.integrity == packet->integrity);
                CHECK(packet->digest == 0);
                if (prepared.digest == 0) continue;
                CHECK(prepared.digest == flow::digest_of(*packet));
                ++digests;
            }
        }
    }
    CHECK(digests > 500);
}
