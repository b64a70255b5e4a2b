// THE list of extended transport headers, in the order in which they can follow the BTH. The
// enumerations wire::Header, wire::Layer and decode::LayerKind, the members of wire::Packet, their
// decoding, sizes, names and titles are all made from it. Which opcode has which of them is told by
// the opcode table.
//
//   ROW(type, member of Packet, name, name of the layer in fields and filters, title)
#pragma once

#define VERIROCE_EXTENDED_HEADERS(ROW)                                                             \
    ROW(Rdeth, rdeth, "RDETH", "infiniband.rdeth", "Reliable Datagram Extended Transport Header")  \
    ROW(Deth, deth, "DETH", "infiniband.deth", "Datagram Extended Transport Header")               \
    ROW(Xrceth, xrceth, "XRCETH", "roce.xrceth", "Extended Reliable Connection Transport Header")  \
    ROW(Feth, feth, "FETH", "roce.feth", "Flush Extended Transport Header")                        \
    ROW(Reth, reth, "RETH", "infiniband.reth", "RDMA Extended Transport Header")                   \
    ROW(AtomicEth, atomic, "AtomicETH", "infiniband.atomiceth",                                    \
        "Atomic Extended Transport Header")                                                        \
    ROW(Aeth, aeth, "AETH", "infiniband.aeth", "ACK Extended Transport Header")                    \
    ROW(AtomicAckEth, atomic_ack, "AtomicAckETH", "infiniband.atomicacketh",                       \
        "Atomic ACK Extended Transport Header")                                                    \
    ROW(ImmDt, imm, "ImmDt", "infiniband.immdt", "Immediate Data")                                 \
    ROW(Ieth, ieth, "IETH", "infiniband.ieth", "Invalidate Extended Transport Header")

// Rows for enumerations, and for counting.
#define VERIROCE_HEADER_TYPE(type, ...) type,
#define VERIROCE_HEADER_ONE(...) +1
