// What is carried above the transport, behind the words about the transport packet:
//
//   … Len=64 NVMe Read CID=0x0001 NSID=1 SLBA=4096 NLB=8
//   … Len=76 iSER SCSI Command ITT=0x10000007 ReadSTag=0x55667788
#pragma once

#include <string>

#include "dissector/decode/dissection.hpp"

namespace veriroce::print {

// To be called for a dissection whose `upper` is set.
void append_upper_info(std::string& out, const decode::Dissection& dissection);

} // namespace veriroce::print
