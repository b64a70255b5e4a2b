#include "reports/decoded_packet.hpp"

#include <string>

#include <boost/json.hpp>

#include "dissector/decode/decoder.hpp"
#include "dissector/print/hex_dump.hpp"
#include "dissector/print/tree.hpp"
#include "dissector/wire/safe_text.hpp"

namespace veriroce::reports {

boost::json::value decoded_packet(wire::Bytes bytes, std::size_t length, std::size_t number,
                                  std::int64_t time_ns) {
    const decode::FrameFacts facts{.bytes = bytes,
                                   .original_length = static_cast<std::uint32_t>(length),
                                   .number = number,
                                   .time_ns = time_ns};
    decode::Dissection dissection;
    decode::dissect_frame(facts, {}, dissection);
    std::string tree;
    print::append_tree(tree, dissection);
    std::string hex;
    print::append_hex_dump(hex, dissection);
    return boost::json::object{{"tree", wire::safe_text(tree, true)},
                               {"hex", wire::safe_text(hex, true)}};
}

} // namespace veriroce::reports
