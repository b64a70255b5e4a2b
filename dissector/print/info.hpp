// The last column of a packet's line: a short summary of the packet.
//
//   RC RDMA Write First QP=0x000011 PSN=7 VA=0x00007f1b45cc7de8 R_Key=0x000036b8 DMALen=16384
//   Len=1024 RC Acknowledge QP=0x000012 PSN=9 MSN=3 NAK Remote Access Error RC Send Only
//   QP=0x000011 PSN=8 Len=64 [ICRC bad: 0x12345678, should be 0x9abcdef0]
#pragma once

#include <string>

#include "dissector/decode/dissection.hpp"

namespace veriroce::print {

void append_info(std::string& out, const decode::Dissection& dissection);
// " Credits=3", " RNR NAK 10.24 ms", " NAK PSN Sequence Error"; nothing for an ACK without credits.
void append_syndrome(std::string& out, wire::Syndrome syndrome);

} // namespace veriroce::print
