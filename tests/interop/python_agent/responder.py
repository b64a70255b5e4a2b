"""The responder of an RC QP: receives requests, sends acknowledgements and READ responses."""

import struct
from collections import deque

from packets import BTH

# name -> (kind, begins a message, ends one, has immediate data)
REQUESTS = {
    0x00: ("SEND", True, False, False), 0x01: ("SEND", False, False, False),
    0x02: ("SEND", False, True, False), 0x03: ("SEND", False, True, True),
    0x04: ("SEND", True, True, False), 0x05: ("SEND", True, True, True),
    0x06: ("WRITE", True, False, False), 0x07: ("WRITE", False, False, False),
    0x08: ("WRITE", False, True, False), 0x09: ("WRITE", False, True, True),
    0x0A: ("WRITE", True, True, False), 0x0B: ("WRITE", True, True, True),
    0x0C: ("READ", True, True, False),
    0x13: ("CMP_SWAP", True, True, False), 0x14: ("FETCH_ADD", True, True, False),
}
RETH = struct.Struct(">QII")
ATOMIC = struct.Struct(">QIQQ")
LARGEST_MESSAGE = 1 << 31
PSNS = 1 << 24
ACK, RNR = 0x1F, 0x20  # syndromes: no credits; the timer code is added
SEQUENCE, INVALID, ACCESS, OPERATIONAL = 0x60, 0x61, 0x62, 0x63


def distance(a, b):
    """How far PSN a is ahead of b, negative behind it."""
    return (a - b + PSNS // 2) % PSNS - PSNS // 2


class Refused(Exception):
    """A fatal NAK, and the status of the receive that was in use, if one was."""

    def __init__(self, syndrome, status="LOC_QP_OP_ERR"):
        super().__init__(syndrome)
        self.syndrome, self.status = syndrome, status


class NotReady(Exception):
    """No receive is posted: an RNR NAK."""


class Responder:
    """Of a QP: `qp` gives it state, attributes, regions, receives and a way to send."""

    def __init__(self, qp):
        self.qp = qp
        self.expected = 0
        self.msn = 0
        self.acknowledged = 0  # the PSN of the newest SEND or WRITE packet
        self.nak_sent = False  # one sequence or RNR NAK until the expected PSN comes
        self.message = None  # the kind of the message that is arriving
        self.receive = None  # the receive request that a SEND fills
        self.total = self.reth = 0
        self.answered = deque()  # READs and atomics, for their duplicates

    def start(self, psn):
        self.expected, self.acknowledged = psn, (psn - 1) % PSNS
        self.answered = deque(maxlen=max(1, self.qp.attributes["max_dest_rd_atomic"]))

    def handle(self, packet):
        ahead = distance(packet.psn, self.expected)
        if ahead > 0:
            if not self.nak_sent:
                self.nak_sent = True
                self.acknowledge(SEQUENCE, self.expected)
        elif ahead < 0:
            self.duplicate(packet)
        else:
            self.nak_sent = False
            try:
                self.execute(packet)
            except NotReady:
                self.nak_sent = True
                self.acknowledge(RNR | self.qp.attributes["min_rnr_timer"], packet.psn)
            except Refused as refused:
                self.acknowledge(refused.syndrome, packet.psn)
                if self.receive:
                    self.qp.complete_receive(self.receive, refused.status)
                    self.receive = None
                self.qp.fail()

    def duplicate(self, packet):
        row = REQUESTS.get(packet.opcode)
        if row and row[0] in ("SEND", "WRITE"):
            if packet.ack_request:
                self.acknowledge(ACK, self.acknowledged)
            return
        for kind, psn, count, fields, original in self.answered:
            if not row or kind != row[0]:
                continue
            if kind != "READ":
                if psn == packet.psn and packet.body[:28] == fields:
                    self.respond(0x12, psn, ACK, original)
            elif self.repeats(packet, psn, count, fields):
                # Read memory again. A region that no longer exists causes no NAK.
                try:
                    self.read(packet.psn, *RETH.unpack_from(packet.body))
                except Refused:
                    pass

    def repeats(self, packet, psn, count, fields):
        """Whether this READ asks for the tail of an answered one."""
        skipped = distance(packet.psn, psn)
        if not 0 <= skipped < count or len(packet.body) != RETH.size:
            return False
        address, key, length = fields
        done = skipped * self.qp.attributes["path_mtu"]
        return RETH.unpack(packet.body) == (address + done, key, length - done)

    def execute(self, packet):
        row = REQUESTS.get(packet.opcode)
        if row is None:
            raise Refused(INVALID)
        kind, first, last, immediate = row
        if (self.message is None) != first or not first and kind != self.message:
            raise Refused(INVALID)
        right = {"WRITE": "REMOTE_WRITE", "READ": "REMOTE_READ", "CMP_SWAP": "REMOTE_ATOMIC",
                 "FETCH_ADD": "REMOTE_ATOMIC"}.get(kind)
        if right and right not in self.qp.attributes["qp_access_flags"]:
            raise Refused(INVALID)
        if kind == "READ":
            self.execute_read(packet)
        elif kind in ("CMP_SWAP", "FETCH_ADD"):
            self.execute_atomic(packet, kind)
        else:
            self.execute_data(packet, kind, first, last, immediate)

    def execute_data(self, packet, kind, first, last, immediate):
        body, imm = packet.body, None
        head = (RETH.size if kind == "WRITE" and first else 0) + (4 if immediate else 0)
        if len(body) < head + packet.pad:
            raise Refused(INVALID)
        reth = RETH.unpack_from(body) if kind == "WRITE" and first else None
        if immediate:
            imm = struct.unpack_from(">I", body, head - 4)[0]
        payload = body[head:len(body) - packet.pad]
        self.check_size(payload, packet.pad, first, last)
        if kind == "SEND":
            self.take_send(payload, first)
        else:
            self.take_write(payload, reth, last, immediate)
        self.expected = (packet.psn + 1) % PSNS
        self.acknowledged = packet.psn
        self.message = None if last else kind
        self.total += len(payload)
        if last:
            self.msn = (self.msn + 1) % PSNS
            if self.receive:
                opcode = "RECV" if kind == "SEND" else "RECV_RDMA_WITH_IMM"
                self.qp.complete_receive(self.receive, "SUCCESS", opcode, self.total, imm)
                self.receive = None
            self.total = 0
        if packet.ack_request:
            self.acknowledge(ACK, packet.psn)

    def check_size(self, payload, pad, first, last):
        mtu = self.qp.attributes["path_mtu"]
        if not last and (len(payload) != mtu or pad):
            raise Refused(INVALID)
        if len(payload) > mtu or last and not first and not payload:
            raise Refused(INVALID)

    def take_send(self, payload, first):
        if first:
            self.receive = self.qp.next_receive()
            if self.receive is None:
                raise NotReady
        if self.total + len(payload) > sum(part["length"] for part in self.receive["sge"]):
            raise Refused(INVALID, "LOC_LEN_ERR")
        if not self.qp.scatter(self.receive["sge"], self.total, payload):
            raise Refused(OPERATIONAL, "LOC_PROT_ERR")

    def take_write(self, payload, reth, last, immediate):
        if reth:
            self.reth = reth
            if reth[2] > LARGEST_MESSAGE:
                raise Refused(INVALID)
        address, key, length = self.reth
        after = self.total + len(payload)
        if after > length or last and after != length:
            raise Refused(INVALID)
        # A WRITE of length 0 needs no key. Other WRITEs look it up for each packet, because the
        # region may have been deregistered meanwhile.
        region = self.region(key, address, length, "REMOTE_WRITE") if length else None
        if immediate:
            self.receive = self.qp.next_receive()
            if self.receive is None:
                raise NotReady
        if region:
            region.write(address - region.address + self.total, payload)

    def region(self, key, address, length, right):
        region = self.qp.device.region_of_key(key)
        if (region is None or region.pd != self.qp.pd or right not in region.access
                or not region.holds(address - region.address, length)):
            raise Refused(ACCESS)
        return region

    def execute_read(self, packet):
        if len(packet.body) != RETH.size or not self.qp.attributes["max_dest_rd_atomic"]:
            raise Refused(INVALID)
        fields = RETH.unpack(packet.body)
        if fields[2] > LARGEST_MESSAGE:
            raise Refused(INVALID)
        if fields[2]:
            self.region(fields[1], fields[0], fields[2], "REMOTE_READ")
        self.msn = (self.msn + 1) % PSNS
        count = self.read(packet.psn, *fields)
        self.answered.append(("READ", packet.psn, count, fields, None))
        self.expected = (packet.psn + count) % PSNS

    def read(self, psn, address, key, length):
        """Sends the responses of a READ; returns how many."""
        data = b""
        if length:
            region = self.region(key, address, length, "REMOTE_READ")
            data = region.read(address - region.address, length)
        mtu = self.qp.attributes["path_mtu"]
        parts = [data[at:at + mtu] for at in range(0, length, mtu)] or [b""]
        for index, part in enumerate(parts):
            end = index == len(parts) - 1
            opcode = (0x10 if end else 0x0D) if index == 0 else (0x0F if end else 0x0E)
            syndrome = None if opcode == 0x0E else ACK
            self.respond(opcode, (psn + index) % PSNS, syndrome, part)
        return len(parts)

    def execute_atomic(self, packet, kind):
        if len(packet.body) != ATOMIC.size or not self.qp.attributes["max_dest_rd_atomic"]:
            raise Refused(INVALID)
        address, key, swap_or_add, compare = ATOMIC.unpack(packet.body)
        if address % 8:
            raise Refused(INVALID)
        region = self.region(key, address, 8, "REMOTE_ATOMIC")
        offset = address - region.address
        before = int.from_bytes(region.read(offset, 8), "little")
        after = before
        if kind == "FETCH_ADD":
            after = (before + swap_or_add) % (1 << 64)
        elif before == compare:
            after = swap_or_add
        region.write(offset, after.to_bytes(8, "little"))
        self.msn = (self.msn + 1) % PSNS
        self.expected = (packet.psn + 1) % PSNS
        original = struct.pack(">Q", before)
        self.answered.append((kind, packet.psn, 1, packet.body, original))
        self.respond(0x12, packet.psn, ACK, original)

    def acknowledge(self, syndrome, psn):
        self.respond(0x11, psn, syndrome, b"")

    def respond(self, opcode, psn, syndrome, payload):
        aeth = b"" if syndrome is None else struct.pack(">I", syndrome << 24 | self.msn)
        self.qp.transmit(opcode, psn, aeth, payload)


def transport(opcode, solicited, ack_request, dest_qp, psn, headers, payload):
    """A packet from its BTH to its pad bytes. MigReq is set: alternate paths are not supported."""
    pad = -len(payload) % 4
    flags = (0x80 if solicited else 0) | 0x40 | pad << 4
    bth = BTH.pack(opcode, flags, 0xFFFF, dest_qp, (1 << 31 if ack_request else 0) | psn)
    return bth + headers + payload + bytes(pad)
