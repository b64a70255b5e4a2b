"""The requester of an RC QP: sends requests, receives responses, retransmits."""

import struct
import time

from responder import ATOMIC, PSNS, RETH, distance

RNR_MS = (655.36, .01, .02, .03, .04, .06, .08, .12, .16, .24, .32, .48, .64, .96, 1.28, 1.92,
          2.56, 3.84, 5.12, 7.68, 10.24, 15.36, 20.48, 30.72, 40.96, 61.44, 81.92, 122.88, 163.84,
          245.76, 327.68, 491.52)
NAKS = {1: "REM_INV_REQ_ERR", 2: "REM_ACCESS_ERR", 3: "REM_OP_ERR"}
COMPLETES_AS = {"SEND": "SEND", "SEND_WITH_IMM": "SEND", "RDMA_WRITE": "RDMA_WRITE",
                "RDMA_WRITE_WITH_IMM": "RDMA_WRITE", "RDMA_READ": "RDMA_READ",
                "ATOMIC_CMP_AND_SWP": "COMP_SWAP", "ATOMIC_FETCH_AND_ADD": "FETCH_ADD"}
# kind -> opcodes of the first, middle, last and only packet, the last two also with immediate data
SEND, WRITE = (0, 1, 2, 4, 3, 5), (6, 7, 8, 10, 9, 11)


class Work:
    """A send request on its way."""

    def __init__(self, request, mtu):
        self.request = request
        self.opcode = request["opcode"]
        self.length = sum(part["length"] for part in request["sge"])
        self.answered = self.opcode in ("RDMA_READ", "ATOMIC_CMP_AND_SWP", "ATOMIC_FETCH_AND_ADD")
        atomic = self.opcode.startswith("ATOMIC")
        self.count = 1 if atomic else max(1, -(-self.length // mtu))
        self.psn = None  # of the first packet, once it is sent
        self.got = 0  # responses of a READ
        self.data = None  # of INLINE, taken when it was posted

    @property
    def last(self):
        return (self.psn + self.count - 1) % PSNS


class Requester:
    def __init__(self, qp):
        self.qp = qp
        self.queue = []  # of Work, oldest first
        self.next = self.unacknowledged = 0
        self.deadline = None  # of the local ACK timer
        self.resume = None  # when the wait after an RNR NAK ends
        self.retries = self.rnr_retries = 0
        self.asked_again = None  # the PSN of the READ response that was missed and asked for again

    def start(self, psn):
        self.next = self.unacknowledged = psn
        self.reload()

    def reload(self):
        self.retries = self.qp.attributes["retry_cnt"]
        self.rnr_retries = self.qp.attributes["rnr_retry"]

    def pump(self):
        """Sends all requests that may be sent now."""
        outstanding = 0
        for work in list(self.queue):
            if work.psn is None:
                if self.resume is not None or self.qp.state != "RTS":
                    return
                if "FENCE" in work.request["flags"] and outstanding:
                    return
                if work.answered and outstanding >= self.qp.attributes["max_rd_atomic"]:
                    return
                work.psn, self.next = self.next, (self.next + work.count) % PSNS
                if not self.send(work, 0):
                    return
                if self.deadline is None:
                    self.wind()
            outstanding += work.answered

    def send(self, work, start):
        """Sends a request from its packet `start` on; False if its memory may not be used."""
        if work.opcode == "RDMA_READ":
            mtu, request = self.qp.attributes["path_mtu"], work.request
            done = start * mtu
            reth = RETH.pack(int(request["remote_address"], 16) + done, request["rkey"],
                             work.length - done)
            self.qp.transmit(0x0C, (work.psn + start) % PSNS, reth, b"", ack_request=True)
        elif work.answered:
            self.send_atomic(work)
        else:
            data = work.data if work.data is not None else self.qp.gather(work.request["sge"])
            if data is None:
                self.fail(work, "LOC_PROT_ERR")
                return False
            self.send_data(work, data, start)
        return True

    def send_atomic(self, work):
        request = work.request
        if work.opcode == "ATOMIC_CMP_AND_SWP":
            opcode, operands = 0x13, (int(request["swap"], 16), int(request["compare"], 16))
        else:
            opcode, operands = 0x14, (int(request["add"], 16), 0)
        header = ATOMIC.pack(int(request["remote_address"], 16), request["rkey"], *operands)
        self.qp.transmit(opcode, work.psn, header, b"", ack_request=True)

    def send_data(self, work, data, start):
        request, mtu = work.request, self.qp.attributes["path_mtu"]
        opcodes = SEND if work.opcode.startswith("SEND") else WRITE
        with_imm = work.opcode.endswith("WITH_IMM")
        for index in range(start, work.count):
            first, last = index == 0, index == work.count - 1
            opcode, headers = opcodes[1 if not first else 0], b""
            if last:
                opcode = opcodes[(3 if first else 2) + (2 if with_imm else 0)]
            if first and opcodes is WRITE:
                headers += RETH.pack(int(request["remote_address"], 16), request["rkey"],
                                     work.length)
            if last and with_imm:
                headers += struct.pack(">I", request["imm"])
            solicited = last and "SOLICITED" in request["flags"] and not (
                work.opcode == "RDMA_WRITE")
            self.qp.transmit(opcode, (work.psn + index) % PSNS, headers,
                             data[index * mtu:(index + 1) * mtu], last, solicited)

    def wind(self):
        """Starts the timer with one and a half times its nominal time; 1x to 4x are allowed."""
        code = self.qp.attributes["timeout"]
        outstanding = self.queue and self.queue[0].psn is not None
        self.deadline = (time.monotonic() + 1.5 * 4.096e-6 * (1 << code)
                         if code and outstanding else None)

    def due(self):
        times = [at for at in (self.deadline, self.resume) if at is not None]
        return min(times, default=None)

    def tick(self, now):
        if self.resume is not None and now >= self.resume:
            self.resume = None
            self.send_again()
            self.pump()
        elif self.resume is None and self.deadline is not None and now >= self.deadline:
            self.retry()

    def retry(self):
        """A timeout, a sequence NAK or an implied one: all use up one counter."""
        if not self.retries:
            self.fail(self.queue[0], "RETRY_EXC_ERR")
            return
        self.retries -= 1
        self.send_again()

    def send_again(self):
        for work in list(self.queue):
            if work.psn is None or self.qp.state != "RTS":
                break
            start = work.got or max(0, distance(self.unacknowledged, work.psn))
            if not self.send(work, start):
                return
        self.wind()

    def handle(self, packet):
        if len(packet.body) < 4 and packet.opcode != 0x0E:
            return
        if distance(packet.psn, self.unacknowledged) < 0 or distance(packet.psn, self.next) >= 0:
            return  # an old response, or one for a PSN that was never sent
        syndrome = packet.body[0] if packet.opcode != 0x0E else 0
        if packet.opcode == 0x11:
            self.acknowledged(packet, syndrome)
        elif syndrome >> 5 == 0:
            self.answered(packet)
        self.pump()

    def acknowledged(self, packet, syndrome):
        kind, value = syndrome >> 5, syndrome & 31
        if kind == 0:
            self.advance((packet.psn + 1) % PSNS)
            return
        if kind not in (1, 3) or kind == 3 and value > 3:
            return  # reserved
        if not self.advance(packet.psn) or not self.queue:
            return
        work = self.queue[0]
        if kind == 1:
            self.not_ready(work, value)
        elif value == 0:
            self.retry()
        else:
            self.fail(work, NAKS[value])

    def not_ready(self, work, code):
        if self.rnr_retries == 0:
            self.fail(work, "RNR_RETRY_EXC_ERR")
            return
        if self.qp.attributes["rnr_retry"] != 7:  # 7 means no limit
            self.rnr_retries -= 1
        self.deadline = None
        self.resume = time.monotonic() + 1.05 * RNR_MS[code] / 1000

    def advance(self, psn):
        """All before `psn` is acknowledged; False if a READ or an atomic stands in the way, which
        is asked for again then: its response was lost."""
        while self.queue and self.queue[0].psn is not None:
            work = self.queue[0]
            if distance(work.psn, psn) >= 0:
                break
            if work.answered:
                missing = (work.psn + work.got) % PSNS
                if self.asked_again != missing:
                    self.asked_again = missing
                    self.retry()
                return False
            if distance(work.last, psn) >= 0:
                break
            self.progress((work.last + 1) % PSNS)
            self.queue.pop(0)
            self.done(work)
        if distance(psn, self.unacknowledged) > 0:
            self.progress(psn)
        return True

    def progress(self, psn):
        self.unacknowledged = psn
        self.asked_again = None
        self.reload()
        self.wind()

    def answered(self, packet):
        """A READ response or an atomic's answer."""
        work = next((work for work in self.queue if work.psn is not None
                     and 0 <= distance(packet.psn, work.psn) < work.count), None)
        if work is None or not work.answered or (packet.opcode == 0x12) != (
                work.opcode != "RDMA_READ"):
            return
        # It also acknowledges the requests before it.
        if not self.advance(work.psn) or self.qp.state != "RTS" or self.queue[0] is not work:
            return
        ahead = distance(packet.psn, (work.psn + work.got) % PSNS)
        if ahead > 0:
            self.advance((packet.psn + 1) % PSNS)
        elif ahead == 0:
            self.take(work, packet)

    def take(self, work, packet):
        mtu = self.qp.attributes["path_mtu"]
        payload = packet.body[0 if packet.opcode == 0x0E else 4:]
        payload = payload[:len(payload) - packet.pad] if packet.pad else payload
        end = work.got == work.count - 1
        offset = work.got * mtu
        if work.opcode == "RDMA_READ":
            if end != (packet.opcode in (0x0F, 0x10)):
                self.fail(work, "BAD_RESP_ERR")
                return
            if len(payload) != (work.length - offset if end else mtu):
                self.fail(work, "LOC_LEN_ERR")
                return
        elif len(payload) != 8:
            return
        else:
            payload = payload[::-1]  # a number, into memory as this host writes numbers
        if not self.qp.scatter(work.request["sge"], offset, payload):
            self.fail(work, "LOC_PROT_ERR")
            return
        work.got += 1
        self.progress((packet.psn + 1) % PSNS)
        if end:
            self.queue.pop(0)
            self.done(work)
            self.wind()

    def done(self, work):
        if self.qp.signal_all or "SIGNALED" in work.request["flags"]:
            length = work.length if work.answered else 0
            self.qp.complete_send(work, "SUCCESS", length)

    def fail(self, work, status):
        self.queue.remove(work)
        self.qp.complete_send(work, status)
        self.qp.fail()

    def flush(self):
        queue, self.queue = self.queue, []
        self.deadline = self.resume = None
        for work in queue:
            self.qp.complete_send(work, "WR_FLUSH_ERR")
