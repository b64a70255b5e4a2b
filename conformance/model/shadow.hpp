// The shadow of a device's memory: what each registered byte may hold at each moment of a story,
// and where the device shows that it holds, or sends, something else.
//
// It is fed with all that may change memory: the owner's writes, the packets of the tester with the
// device's answers to them, the device's own READs and atomics, and polled completions. What a
// request that was accepted leaves is known; one without an answer, or refused, leaves old or new
// bytes in the range that it names; one that is dropped, a duplicate, or after the end of its QP
// changes nothing. Bytes that nothing names never change.
//
// What a reader of packets cannot decide is left out, not guessed: packets that a device may take
// or drop, shared receives before their completion, answers that fit no request.
//
// Atomics are little-endian in memory. Source: rules RSP-15, CRC-07, KEY-02 to KEY-14, RDR-04,
// RDR-12, ATM-01, ATM-04, N-07, N-22, N-23.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "conformance/model/deviation.hpp"
#include "conformance/model/story.hpp"

namespace veriroce::model {

// How scripts call a region; of one without a name, what it is for.
using RegionNames = std::map<dut::MrHandle, std::string>;

// Regions up to this size are read at the end of a case; of larger ones the digest is compared.
inline constexpr std::uint64_t kMostRead = std::uint64_t{1} << 20;

// A region is compared where the story reads it (mr_read, mr_digest) and the link was quiet before.
std::vector<Deviation> check_memory(const Story& story, const RegionNames& names);

} // namespace veriroce::model
