// Connections that carry NVMe, iSER, SMB Direct and RPC over RDMA: their CM exchange, then messages
// of each kind. For comparisons with another dissector, and as seeds.
#pragma once

#include "tests/dissector/corpus/corpus.hpp"

namespace veriroce::corpus {

// One for each protocol, named after it. The same at every call. What the connections of all have
// alike: the client is 192.0.2.1 or 2001:db8::1, the server ends in 2; `CorpusFrame::carrier` says
// what the frame is: "nvme read v6".
std::vector<Corpus> upper_corpora();

// QPs of the first connection of each, over IPv4.
inline constexpr std::uint32_t kClientQp = 0x000101;
inline constexpr std::uint32_t kServerQp = 0x000202;

} // namespace veriroce::corpus
