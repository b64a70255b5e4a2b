// ICRC, the invariant CRC of RoCEv2: CRC-32 over eight bytes of ones and the packet from the IP
// header to the last pad byte, with the fields that a router may change replaced by ones. Stored
// least significant byte first.
//
// Source: rules CRC-01..CRC-06, CA17-22.
#pragma once

#include "dissector/wire/bytes.hpp"

namespace veriroce::wire {

// `headers` begins at the IP header (version 4 or 6 by its first nibble) and reaches at least to
// the end of the BTH; `rest` is what follows it and may be empty.
std::uint32_t icrc(Bytes headers, Bytes rest = {});

// The same, while `rest` is copied to `to`, which has room for it: takes less time than the two.
std::uint32_t copy_icrc(Bytes headers, Bytes rest, MutableBytes to);

// The same without masking: a CRC over the bytes as they are. Some broken senders do this; it is
// one of the wrong values of CRC-07.
std::uint32_t icrc_unmasked(Bytes headers, Bytes rest = {});

// The same CRC of RoCE v1, whose packets have a GRH in place of IP and UDP headers: eight bytes of
// ones, then the packet from the GRH to the last pad byte. `packet` may end before the BTH does.
// Source: IBTA volume 1, 7.8.1.
std::uint32_t icrc_from_grh(Bytes packet);

// The same of native InfiniBand, from the LRH on. Of a packet without GRH the LRH is covered but
// for its virtual lane; with a GRH all of the LRH counts as ones, because routers replace it.
std::uint32_t icrc_from_lrh(Bytes packet, bool has_grh);

// The four bytes on the wire as the number that the functions above return, and back.
std::uint32_t load_icrc(Bytes bytes);
void store_icrc(MutableBytes out, std::uint32_t value);

} // namespace veriroce::wire
