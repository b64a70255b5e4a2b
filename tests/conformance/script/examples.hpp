// The cases that the language was designed on.
#pragma once

#include <array>
#include <string_view>

namespace veriroce::script::tests {

struct Example {
    std::string_view path;
    std::size_t runs;
    std::string_view text;
};

inline constexpr std::array design_examples{
    Example{"rsp/gap.roce", 1, R"roce(rule   RSP-02 RSP-03
title  "A gap in the PSNs gets one NAK with the expected PSN"
role   responder
unless out_of_order                                # a device that accepts gaps sends no NAK

dut    recv id=1..3

> SEND_ONLY  psn=0 ackreq
< ACK        psn=0 msn=1
> SEND_ONLY  psn=2                                 # 1 is missing
< NAK        psn=1 msn=1 code=PSN_SEQUENCE
> SEND_ONLY  psn=3
no NAK                                             # one NAK is enough
> SEND_ONLY  psn=1
> SEND_ONLY  psn=2 ackreq
< ACK        psn=2 msn=3

dut    done recv id=1..3
)roce"},
    Example{"len/first.roce", 15, R"roce(rule   LEN-01
title  "A FIRST packet that is not exactly one PMTU long gets NAK INVALID_REQUEST"
role   responder
for    qp.mtu in 256 512 1024 2048 4096
for    n      in 0 mtu-4 mtu+4

dut    mr a len=16KiB access=remote_write
> RDMA_WRITE_FIRST va=a rkey=a dmalen=8KiB len=n
< NAK  psn=0 msn=0 code=INVALID_REQUEST
dut    state ERR
)roce"},
    Example{"rnr/wait.roce", 7, R"roce(rule   RNR-08
title  "The requester waits at least the time that the RNR NAK names"
role   requester
for    code in 0 1 8 16 20 24 26
qp     rnr_retry=7 timeout=20

dut    post SEND id=1
< SEND_ONLY  psn=0
> RNR_NAK    psn=0 timer=code
< SEND_ONLY  psn=0    after rnr(code)..    measure rnr_wait[code]
> ACK        psn=0
dut    done send id=1
)roce"},
    Example{"req/lost.roce", 1, R"roce(rule   REQ-09 REQ-10
title  "After a lost READ response, the requester asks again from the first missing byte or before"
role   requester
let    lost = 3

dut    mr d len=64KiB
tester mr t len=64KiB fill=offsets access=remote_read
tester answers                                     # now our engine answers as a correct peer
fault  drop when from=tester psn=lost pass=1..2 fires=2

dut    post RDMA_READ id=1 local=d remote=t
< RDMA_READ_REQUEST  psn=0        va=t          dmalen=64KiB
repeat 2
  < RDMA_READ_REQUEST  psn=0..lost  va=t+psn*mtu  dmalen=64KiB-psn*mtu  # `psn`: just seen
end
dut    done send id=1 within 10s
expect d == t
)roce"},
    Example{"bth/pad.roce", 3, R"roce(rule   BTH-12 ROB-02
title  "A pad count of {n} with an empty payload does no harm"
role   responder
for    n in 1 2 3

dut    recv id=1
> SEND_ONLY  len=0 pad=n
any
  dropped                                  # silence, nothing completed, and the QP still works
or                                                 # a NAK is allowed too; it ends the connection
  < NAK  psn=0 code=INVALID_REQUEST
  dut    state ERR
end
)roce"},
    Example{"opc/pairs.roce", 361, R"roce(rule   OPC-08
title  "{first} followed by {second} gets an answer that the rules allow"
role   responder
for    first  in requests
for    second in requests

dut    recv id=1..2
dut    mr a len=16KiB access=remote_read,remote_write,remote_atomic
> {first}
> {second} ackreq
judged                                     # whatever the reference model allows; nothing else
)roce"},
};

} // namespace veriroce::script::tests
