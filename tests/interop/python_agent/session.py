"""One connection: lines of JSON-RPC in, lines out; the methods of the contract's minimum."""

import base64
import binascii
import hmac
import json
import time

from device import MAX, Cq, Qp
from fields import METHODS, WANTS, Bad, checked, number, text
from memory import Region, crc32c, pattern

LIMITS = {"connections": 8, "registered_bytes": 1 << 28, "qps": 4096, "queued_bytes": 64 << 20,
          "line_bytes": 16 << 20}


class Device(Exception):
    """-32000: the device refuses the verb."""

    def __init__(self, errno, **more):
        super().__init__(errno)
        self.data = {"errno": errno, **more}


class Session:
    def __init__(self, device, token):
        self.device, self.token = device, token
        self.greeted = False
        self.pds, self.cqs, self.mrs, self.qps = set(), {}, {}, {}
        self.next_handle = 1
        self.waits = []  # (deadline, id, Cq, max) of polls

    def take(self, line):
        """The answer to a line, None if there is none yet. ConnectionError ends the connection."""
        try:
            request = json.loads(line)
        except (ValueError, RecursionError):
            if not self.greeted:
                raise ConnectionError from None
            return self.error(None, -32700, "this is not JSON")
        if not self.greeted:
            return self.greet(request)
        ident = request.get("id") if isinstance(request, dict) else None
        if not number(ident):
            return self.error(None, -32600, "a request has a numeric id")
        if (request.get("jsonrpc") != "2.0" or not text(request.get("method"))
                or set(request) - {"jsonrpc", "id", "method", "params"}):
            return self.error(ident, -32600, "this is no request")
        method, params = request["method"], request.get("params", {})
        if method not in METHODS:
            return self.error(ident, -32601, f"there is no method {method}")
        return self.carry_out(ident, method, params)

    def carry_out(self, ident, method, params):
        try:
            checked(params, METHODS[method])
            if method == "poll":
                return self.poll(ident, **params)
            if method in ("cancel", "reset"):
                ended = params.get("id")
                answers = self.answers(lambda wait: method == "reset" or wait[1] == ended)
                if method == "reset":
                    self.reset()
                return [*answers, self.result(ident, {})]
            call = getattr(self, method)
            result = call(params) if method in ("qp_create", "qp_modify") else call(**params)
        except Bad as bad:
            return self.error(ident, -32602, f"{method}: {bad}")
        except Device as refused:
            return self.error(ident, -32000, f"the device refused {method}",
                              {"verb": method, **refused.data})
        return self.result(ident, result)

    def greet(self, request):
        """The first line is hello with the right token, or the connection is closed silently."""
        if not isinstance(request, dict) or request.get("method") != "hello":
            raise ConnectionError
        params = request.get("params", {})
        given = params.get("token", "") if isinstance(params, dict) else ""
        if self.token and not (text(given) and hmac.compare_digest(given.encode(),
                                                                   self.token.encode())):
            raise PermissionError
        answer = self.carry_out(request.get("id"), "hello", params)
        self.greeted = "result" in answer  # otherwise the connection is closed after this answer
        return answer

    @staticmethod
    def result(ident, result):
        return {"jsonrpc": "2.0", "id": ident, "result": result}

    @staticmethod
    def error(ident, code, message, data=None):
        error = {"code": code, "message": message}
        if data:
            error["data"] = data
        return {"jsonrpc": "2.0", "id": ident, "error": error}

    # Methods ----------------------------------------------------------------------------------

    def hello(self, version, token=None):
        if version != 1:
            raise Bad("version: expected 1")
        device = self.device
        gids = [{"index": index, "type": "rocev2", "address": str(address)}
                for index, address in enumerate(device.addresses)]
        port = {"port": 1, "mac": device.mac, "mtu_active": device.mtu, "mtu_max": 4096,
                "link_layer": "Ethernet", "pkeys": [0xFFFF], "gids": gids}
        return {"version": 1, "name": "python", "backend": "python", "device": "python0",
                "firmware": "1", "capabilities": ["rc", "read", "imm", "atomics", "ipv6"],
                "traits": [], "ports": [port], "max": MAX, "local_ca_ack_delay": 18,
                "atomic": "HCA", "limits": LIMITS}

    def new(self):
        self.next_handle += 1
        return self.next_handle

    @staticmethod
    def known(handle, among, what):
        if handle not in among:
            raise Bad(f"{what}: unknown handle {handle}")
        return among[handle] if isinstance(among, dict) else handle

    def pd_create(self):
        pd = self.new()
        self.pds.add(pd)
        return {"pd": pd}

    def pd_destroy(self, pd):
        self.known(pd, self.pds, "pd")
        users = [one.pd[1] for one in (*self.mrs.values(), *self.qps.values())]
        if pd in users:
            raise Device("EBUSY")
        self.pds.remove(pd)
        return {}

    def cq_create(self, depth):
        if not 1 <= depth <= MAX["cqe"]:
            raise Device("EINVAL")
        cq = self.new()
        self.cqs[cq] = Cq(depth)
        return {"cq": cq}

    def cq_destroy(self, cq):
        queue = self.known(cq, self.cqs, "cq")
        if any(queue in (qp.send_cq, qp.recv_cq) for qp in self.qps.values()):
            raise Device("EBUSY")
        del self.cqs[cq]
        return {}

    def mr_register(self, pd, length, access, fill=None):
        self.known(pd, self.pds, "pd")
        remote = {"REMOTE_WRITE", "REMOTE_ATOMIC"} & set(access)
        if not 0 < length <= MAX["mr_bytes"] or remote and "LOCAL_WRITE" not in access:
            raise Device("EINVAL")
        used = sum(region.length for region in self.device.regions.values())
        if used + length > LIMITS["registered_bytes"]:
            raise Device("ENOMEM")
        device = self.device
        # PDs are this connection's: no other's has the same name.
        region = Region((self, pd), length, access, device.next_address, device.new_key())
        device.next_address += (length + 0x2FFF) & ~0xFFF
        device.regions[region.rkey] = region
        mr = self.new()
        self.mrs[mr] = region
        if fill:
            region.write(0, pattern(fill["pattern"], fill.get("key", 0), 0, length))
        return {"mr": mr, "address": hex(region.address), "lkey": region.lkey,
                "rkey": region.rkey}

    def mr_deregister(self, mr):
        region = self.known(mr, self.mrs, "mr")
        del self.mrs[mr], self.device.regions[region.rkey]
        return {}

    def range(self, mr, offset, length):
        region = self.known(mr, self.mrs, "mr")
        if not region.holds(offset, length):
            raise Bad("the range is outside the region")
        return region

    def mr_read(self, mr, offset, length):
        region = self.range(mr, offset, length)
        if length > 8 << 20:
            raise Bad("length is more than 8 MiB")
        return {"data": base64.b64encode(region.read(offset, length)).decode()}

    def mr_write(self, mr, offset, data):
        try:
            data = base64.b64decode(data, validate=True)
        except (binascii.Error, ValueError):
            raise Bad("data is not base64") from None
        self.range(mr, offset, len(data)).write(offset, data)
        return {}

    def mr_fill(self, mr, offset, length, **fill):
        region = self.range(mr, offset, length)
        region.write(offset, pattern(fill["pattern"], fill.get("key", 0), offset, length))
        return {}

    def mr_digest(self, mr, offset, length):
        region = self.range(mr, offset, length)
        return {"crc32c": crc32c(region.read(offset, length)),
                "guards_intact": region.guards_intact()}

    def qp_create(self, params):
        pd = self.known(params["pd"], self.pds, "pd")
        cqs = [self.known(params[name], self.cqs, "cq") for name in ("send_cq", "recv_cq")]
        if "srq" in params:
            raise Bad("srq: not supported")
        if params["type"] != "RC":
            raise Device("EOPNOTSUPP")
        sizes = {"max_send": "qp_wr", "max_recv": "qp_wr", "max_sge": "sge", "max_inline": "inline"}
        if any(params.get(name, 0) > MAX[most] for name, most in sizes.items()):
            raise Device("EINVAL")
        if len(self.device.qps) >= LIMITS["qps"]:
            raise Device("ENOMEM")
        handle = self.new()
        qp = Qp(self.device, handle, (self, pd), params, cqs)
        self.qps[handle] = self.device.qps[qp.qpn] = qp
        return {"qp": handle, "qpn": qp.qpn}

    def qp_destroy(self, qp):
        del self.device.qps[self.known(qp, self.qps, "qp").qpn]
        del self.qps[qp]
        return {}

    def qp_modify(self, params):
        given = dict(params)
        errno = self.known(given.pop("qp"), self.qps, "qp").modify(given)
        if errno:
            raise Device(errno)
        return {}

    def qp_query(self, qp):
        found = self.known(qp, self.qps, "qp")
        attributes = {**found.attributes, "rq_psn": found.responder.expected,
                      "sq_psn": found.requester.next}
        return {"state": found.state, **attributes}

    def resolve(self, requests):
        """Regions instead of their handles. A field that its opcode needs may not be missing."""
        for request in requests:
            for name in WANTS.get(request.get("opcode"), ()):
                if name not in request:
                    raise Bad(f"{name} is missing")
            for part in request["sge"]:
                part["region"] = self.known(part["mr"], self.mrs, "mr")
                part.setdefault("lkey", part["region"].lkey)

    def post(self, qp, requests, take):
        self.resolve(requests)
        for posted, request in enumerate(requests):
            errno = take(request)
            if errno:
                qp.settle()
                raise Device(errno, posted=posted)
        qp.settle()
        return {"posted": len(requests)}

    def post_send(self, qp, requests):
        found = self.known(qp, self.qps, "qp")
        return self.post(found, requests, found.post_send)

    def post_recv(self, qp, requests):
        found = self.known(qp, self.qps, "qp")
        return self.post(found, requests, found.post_receive)

    def counters(self):
        return {}

    def ping(self):
        return {"at": str(time.monotonic_ns())}

    def reset(self):
        for qp in self.qps.values():
            del self.device.qps[qp.qpn]
        for region in self.mrs.values():
            del self.device.regions[region.rkey]
        self.pds, self.cqs, self.mrs, self.qps = set(), {}, {}, {}

    # Waits ------------------------------------------------------------------------------------

    def poll(self, ident, cq, max, wait_ms):
        queue = self.known(cq, self.cqs, "cq")
        if not 1 <= max or wait_ms > 60000:
            raise Bad("max or wait_ms is out of range")
        if wait_ms and not queue.entries and len(self.waits) < 1024:
            self.waits.append((time.monotonic() + wait_ms / 1000, ident, queue, max))
            return None
        return self.completions(ident, queue, max)

    def completions(self, ident, queue, most):
        taken = [queue.entries.popleft() for _ in range(min(most, len(queue.entries)))]
        return self.result(ident, {"completions": taken, "overrun": queue.overrun})

    def answers(self, ends):
        """The answers of the waits that have something to say, or of which `ends` is true."""
        answers, still = [], []
        for wait in self.waits:
            if wait[2].entries or ends(wait):
                answers.append(self.completions(*wait[1:]))
            else:
                still.append(wait)
        self.waits = still
        return answers

    def ready(self, now):
        return self.answers(lambda wait: now >= wait[0])
