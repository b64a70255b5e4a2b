"""The device: its objects, and the contract's methods on them."""

import ipaddress
import secrets
import time
from collections import deque

from packets import Way
from requester import COMPLETES_AS, Requester, Work
from responder import Responder, transport

MAX = {"qp": 4096, "qp_wr": 1024, "sge": 4, "cqe": 65536, "mr_bytes": 1 << 26, "rd_atomic": 16,
       "dest_rd_atomic": 16, "msg_bytes": 1 << 24, "inline": 256}
# state -> state: required and optional attributes (from ibv_modify_qp's manual)
AV = {"ah_attr", "path_mtu", "dest_qp_num", "rq_psn", "max_dest_rd_atomic", "min_rnr_timer"}
RTS_NEEDS = {"sq_psn", "timeout", "retry_cnt", "rnr_retry", "max_rd_atomic"}
STEPS = {
    ("RESET", "INIT"): ({"pkey_index", "port_num", "qp_access_flags"}, set()),
    ("INIT", "INIT"): (set(), {"pkey_index", "port_num", "qp_access_flags"}),
    ("INIT", "RTR"): (AV, {"pkey_index", "qp_access_flags"}),
    ("RTR", "RTS"): (RTS_NEEDS, {"cur_qp_state", "qp_access_flags", "min_rnr_timer"}),
    ("RTS", "RTS"): (set(), {"cur_qp_state", "qp_access_flags", "min_rnr_timer"}),
}
DEFAULTS = {"qp_access_flags": [], "pkey_index": 0, "port_num": 1, "path_mtu": 256,
            "dest_qp_num": 0, "rq_psn": 0, "sq_psn": 0, "timeout": 0, "retry_cnt": 0,
            "rnr_retry": 0, "max_rd_atomic": 0, "max_dest_rd_atomic": 0, "min_rnr_timer": 0}


class Device:
    """An interface, its QPs by number and its regions by key, of all connections."""

    def __init__(self, wire, addresses, mac, mtu):
        self.wire, self.mac = wire, mac
        self.addresses = [ipaddress.ip_address(one) for one in addresses]
        self.mtu = max(size for size in (256, 512, 1024, 2048, 4096) if size + 84 <= mtu)
        self.qps, self.regions = {}, {}
        self.next_qpn = 0x100 + secrets.randbelow(0x1000)
        self.next_address = 0x7F0000000000

    def region_of_key(self, key):
        return self.regions.get(key)

    def new_key(self):
        while True:
            key = secrets.randbelow(1 << 32)
            if key and key not in self.regions:
                return key

    def new_qpn(self):
        self.next_qpn += 1
        return self.next_qpn

    def receive(self):
        for packet in self.wire.receive():
            qp = self.qps.get(packet.dest_qp)
            if qp:
                qp.handle(packet)

    def due(self):
        times = [qp.requester.due() for qp in self.qps.values()]
        return min((at for at in times if at is not None), default=None)

    def tick(self):
        now = time.monotonic()
        for qp in list(self.qps.values()):
            qp.requester.tick(now)


class Cq:
    def __init__(self, depth):
        self.depth, self.overrun = depth, False
        self.entries = deque()

    def add(self, entry):
        if len(self.entries) >= self.depth:
            self.overrun = True
        else:
            self.entries.append(entry)


class Qp:
    def __init__(self, device, name, pd, params, cqs):
        self.device, self.name, self.pd = device, name, pd
        self.send_cq, self.recv_cq = cqs
        self.max_send, self.max_recv = params["max_send"], params["max_recv"]
        self.max_sge = params.get("max_sge", 1)
        self.max_inline = params.get("max_inline", 0)
        self.signal_all = params.get("signal_all", False)
        self.qpn = device.new_qpn()
        self.reset()

    def reset(self):
        self.state = "RESET"
        self.attributes = dict(DEFAULTS)
        self.receives = deque()
        self.way = None
        self.responder, self.requester = Responder(self), Requester(self)

    def modify(self, given):
        """Executes qp_modify; returns the name of an errno if it is not allowed."""
        state = given.pop("state", self.state)
        current = given.get("cur_qp_state", self.state)
        if current != self.state:
            return "EINVAL"
        if state in ("RESET", "ERR") and (not given or set(given) == {"cur_qp_state"}):
            self.reset() if state == "RESET" else self.fail()
            return None
        needs, may = STEPS.get((self.state, state), (None, None))
        names = set(given)
        if needs is None or not needs <= names <= needs | may:
            return "EINVAL"
        if not self.fits(given):
            return "EINVAL"
        self.attributes.update((name, value) for name, value in given.items()
                               if name != "cur_qp_state")
        if state != self.state:
            self.state = state
            if state == "RTR":
                self.responder.start(given["rq_psn"])
            if state == "RTS":
                self.requester.start(given["sq_psn"])
        return None

    def fits(self, given):
        limits = {"pkey_index": 0, "timeout": 31, "retry_cnt": 7, "rnr_retry": 7,
                  "min_rnr_timer": 31, "max_rd_atomic": MAX["rd_atomic"],
                  "max_dest_rd_atomic": MAX["dest_rd_atomic"], "rq_psn": 0xFFFFFF,
                  "sq_psn": 0xFFFFFF, "dest_qp_num": 0xFFFFFF}
        if any(given.get(name, 0) > most for name, most in limits.items()):
            return False
        if given.get("port_num", 1) != 1:
            return False
        mtu = given.get("path_mtu", 256)
        if mtu not in (256, 512, 1024, 2048, 4096) or mtu > self.device.mtu:
            return False
        return "ah_attr" not in given or self.take_way(given["ah_attr"])

    def take_way(self, way):
        index = way["gid_index"]
        if index >= len(self.device.addresses):
            return False
        source = self.device.addresses[index]
        peer = ipaddress.ip_address(way["address"])
        if peer.version != source.version:
            return False
        self.way = Way(source, peer, way.get("udp_sport", 0xC000 | self.qpn & 0x3FFF),
                       way.get("hop_limit", 64), way.get("traffic_class", 0),
                       way.get("flow_label", 0))
        return True

    def handle(self, packet):
        """Handles a packet; silently drops it if it does not fit this QP and its state."""
        if self.state not in ("RTR", "RTS") or packet.version or packet.opcode >> 5:
            return
        if packet.pkey & 0x7FFF != 0x7FFF:
            return
        if packet.source != self.way.destination or packet.destination != self.way.source:
            return
        if 0x0D <= packet.opcode <= 0x12:
            if self.state == "RTS":
                self.requester.handle(packet)
        else:
            self.responder.handle(packet)

    def transmit(self, opcode, psn, headers, payload, ack_request=False, solicited=False):
        self.device.wire.send(self.way, transport(
            opcode, solicited, ack_request, self.attributes["dest_qp_num"], psn, headers, payload))

    def next_receive(self):
        return self.receives.popleft() if self.receives else None

    def scatter(self, sge, offset, data):
        """Writes into a scatter list from `offset` on; False if that is not allowed."""
        for part in sge:
            if not data:
                break
            if offset >= part["length"]:
                offset -= part["length"]
                continue
            region = self.local(part)
            if region is None or "LOCAL_WRITE" not in region.access:
                return False
            now, data = data[:part["length"] - offset], data[part["length"] - offset:]
            region.write(part["offset"] + offset, now)
            offset = 0
        return not data

    def gather(self, sge):
        data = b""
        for part in sge:
            region = self.local(part)
            if region is None:
                return None
            data += region.read(part["offset"], part["length"])
        return data

    def local(self, part):
        """The region of a scatter element, if its lkey is right and its range is inside."""
        region = self.device.region_of_key(part["lkey"])
        if region is None or region.pd != self.pd or region is not part["region"]:
            return None
        return region if region.holds(part["offset"], part["length"]) else None

    def post_send(self, request):
        """Accepts a send request; returns the name of an errno if it does not."""
        if self.state not in ("RTS", "ERR"):
            return "EINVAL"
        if len(self.requester.queue) >= self.max_send:
            return "ENOMEM"
        work = Work(request, self.attributes["path_mtu"])
        if len(request["sge"]) > self.max_sge or work.length > MAX["msg_bytes"]:
            return "EINVAL"
        if work.opcode not in COMPLETES_AS:
            return "EOPNOTSUPP"
        if "INLINE" in request["flags"]:
            if work.length > self.max_inline:
                return "EINVAL"
            work.data = b"".join(part["region"].read(part["offset"], part["length"])
                                 for part in request["sge"])
        self.requester.queue.append(work)
        return None

    def post_receive(self, request):
        if self.state == "RESET" or len(request["sge"]) > self.max_sge:
            return "EINVAL"
        if len(self.receives) >= self.max_recv:
            return "ENOMEM"
        self.receives.append(request)
        return None

    def settle(self):
        """After posting: sends, or flushes."""
        if self.state == "ERR":
            self.fail()
        else:
            self.requester.pump()

    def complete_send(self, work, status, length=0):
        self.send_cq.add(self.entry(work.request, "send", status, COMPLETES_AS[work.opcode],
                                    length))

    def complete_receive(self, request, status, opcode="RECV", length=0, imm=None):
        entry = self.entry(request, "recv", status, opcode, length)
        if imm is not None:
            entry["imm"] = imm
        self.recv_cq.add(entry)

    def entry(self, request, queue, status, opcode, length):
        return {"id": request["id"], "qp": self.name, "queue": queue, "status": status,
                "opcode": opcode, "byte_len": length, "at": str(time.monotonic_ns())}

    def fail(self):
        self.state = "ERR"
        self.requester.flush()
        if self.responder.receive:
            self.complete_receive(self.responder.receive, "WR_FLUSH_ERR")
            self.responder.receive = None
        while self.receives:
            self.complete_receive(self.receives.popleft(), "WR_FLUSH_ERR")
