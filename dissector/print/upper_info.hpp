// Summary of the upper-layer message, appended after the summary of the transport packet:
//
//   … Len=64 NVMe Read CID=0x0001 NSID=1 SLBA=4096 NLB=8
//   … Len=76 iSER SCSI Command ITT=0x10000007 ReadSTag=0x55667788
#pragma once

#include <string>

#include "dissector/decode/dissection.hpp"

namespace veriroce::print {

// Requires that the dissection's `upper` is set.
void append_upper_info(std::string& out, const decode::Dissection& dissection);

} // namespace veriroce::print
