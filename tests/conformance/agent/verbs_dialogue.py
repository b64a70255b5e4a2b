#!/usr/bin/env python3
"""Talks to an agent with the verbs backend as a tester would, and checks every answer.

    verbs_dialogue.py HOST:PORT TOKEN_FILE PEER_ADDRESS

Two QPs of the device are connected to each other (no second machine is needed for that); a third is
connected to PEER_ADDRESS, where somebody answers ARP and nobody RoCE. Exits 0 if all is as the
contract says, else 1 with the first thing that was not.
"""
import base64
import json
import socket
import sys


def split(target):
    """("fd77::1", "4790") of "[fd77::1]:4790"."""
    host, port = target.rsplit(":", 1)
    return host.strip("[]"), port


class Refused(Exception):
    def __init__(self, error):
        super().__init__(json.dumps(error))
        self.error = error


class Agent:
    def __init__(self, target, token):
        host, port = split(target)
        self.socket = socket.create_connection((host, int(port)), timeout=20)
        self.lines = self.socket.makefile("r", encoding="utf-8")
        self.next_id = 1
        self.early = {}
        self.welcome = self.call("hello", version=1, token=token)

    def send(self, method, **params):
        call = self.next_id
        self.next_id += 1
        line = {"jsonrpc": "2.0", "id": call, "method": method, "params": params}
        self.socket.sendall((json.dumps(line) + "\n").encode())
        return call

    def wait(self, call):
        while call not in self.early:
            line = self.lines.readline()
            if not line:
                raise EOFError("the agent closed the connection")
            answer = json.loads(line)
            self.early[answer["id"]] = answer
        answer = self.early.pop(call)
        if "error" in answer:
            raise Refused(answer["error"])
        return answer["result"]

    def call(self, method, **params):
        return self.wait(self.send(method, **params))

    def refusal(self, method, **params):
        try:
            result = self.call(method, **params)
        except Refused as refused:
            return refused.error
        raise AssertionError(f"{method} {params} was not refused: {result}")


def equal(found, wanted, what):
    if found != wanted:
        raise AssertionError(f"{what}: expected {wanted!r}, found {found!r}")


def completion(agent, cq, **wanted):
    polled = agent.call("poll", cq=cq, max=1, wait_ms=5000)
    equal(len(polled["completions"]), 1, f"completions for {wanted}")
    found = polled["completions"][0]
    for name, value in wanted.items():
        equal(found.get(name), value, f"{name} of {found}")
    return found


def connect(agent, qp, address, gid_index, remote_qpn):
    agent.call("qp_modify", qp=qp, state="INIT", pkey_index=0, port_num=1,
               qp_access_flags=["REMOTE_WRITE", "REMOTE_READ", "REMOTE_ATOMIC"])
    agent.call("qp_modify", qp=qp, state="RTR", path_mtu=1024, dest_qp_num=remote_qpn, rq_psn=100,
               max_dest_rd_atomic=4, min_rnr_timer=12,
               ah_attr={"gid_index": gid_index, "address": address, "hop_limit": 17})
    agent.call("qp_modify", qp=qp, state="RTS", timeout=12, retry_cnt=1, rnr_retry=0, sq_psn=100,
               max_rd_atomic=4)


def setup(agent):
    pd = agent.call("pd_create")["pd"]
    cq = agent.call("cq_create", depth=64)["cq"]
    qps = [agent.call("qp_create", pd=pd, type="RC", send_cq=cq, recv_cq=cq, max_send=16,
                      max_recv=16, max_sge=2, max_inline=64) for _ in range(2)]
    return pd, cq, qps


def region(agent, pd, length, **more):
    return agent.call("mr_register", pd=pd, length=length,
                      access=["LOCAL_WRITE", "REMOTE_WRITE", "REMOTE_READ", "REMOTE_ATOMIC"],
                      **more)


def check_memory(agent, pd):
    mr = region(agent, pd, 10000, fill={"pattern": "offsets", "key": 5})["mr"]
    data = base64.b64decode(agent.call("mr_read", mr=mr, offset=16, length=9)["data"])
    equal(data, (21).to_bytes(8, "big") + b"\0", "the pattern offsets")
    agent.call("mr_write", mr=mr, offset=9990, data=base64.b64encode(b"0123456789").decode())
    digest = agent.call("mr_digest", mr=mr, offset=9990, length=10)
    equal(digest, {"crc32c": 0x280C069E, "guards_intact": True}, "the digest")
    equal(agent.refusal("mr_read", mr=mr, offset=9990, length=11)["code"], -32602, "out of range")
    agent.call("mr_deregister", mr=mr)
    equal(agent.refusal("mr_read", mr=mr, offset=0, length=1)["code"], -32602, "a stale handle")


def check_traffic(agent, pd, cq, qps):
    a, b = (qp["qp"] for qp in qps)
    src = region(agent, pd, 8192, fill={"pattern": "random", "key": 1})
    dst = region(agent, pd, 8192, fill={"pattern": "zero"})
    piece = {"mr": src["mr"], "offset": 0, "length": 5000}

    equal(agent.call("post_recv", qp=b, requests=[
        {"id": "18446744073709551615", "sge": [{"mr": dst["mr"], "offset": 0, "length": 8192}]}]),
        {"posted": 1}, "post_recv")
    agent.call("post_send", qp=a, requests=[
        {"id": "2", "opcode": "SEND_WITH_IMM", "sge": [piece], "imm": 0x01020304,
         "flags": ["SIGNALED", "SOLICITED"]}])
    seen = [agent.call("poll", cq=cq, max=1, wait_ms=5000)["completions"][0] for _ in range(2)]
    seen = {one["queue"]: one for one in seen}
    equal(seen["recv"]["id"], "18446744073709551615", "the wr id of the receive")
    equal(seen["recv"]["imm"], 0x01020304, "immediate data")
    equal(seen["recv"]["byte_len"], 5000, "byte_len")
    equal(seen["recv"]["opcode"], "RECV", "opcode")
    equal(seen["send"]["status"], "SUCCESS", "status")

    for opcode, name in (("RDMA_WRITE", "RDMA_WRITE"), ("RDMA_READ", "RDMA_READ")):
        agent.call("post_send", qp=a, requests=[
            {"id": "3", "opcode": opcode, "sge": [piece], "remote_address": dst["address"],
             "rkey": dst["rkey"], "flags": []},
            {"id": "4", "opcode": opcode, "sge": [piece], "remote_address": dst["address"],
             "rkey": dst["rkey"], "flags": ["SIGNALED"]}])
        completion(agent, cq, id="4", status="SUCCESS", opcode=name, queue="send")
    equal(agent.call("mr_digest", mr=src["mr"], offset=0, length=5000),
          agent.call("mr_digest", mr=dst["mr"], offset=0, length=5000), "both regions")

    agent.call("mr_fill", mr=dst["mr"], offset=0, length=8, pattern="ones")
    eight = {"mr": src["mr"], "offset": 0, "length": 8}
    agent.call("post_send", qp=a, requests=[
        {"id": "5", "opcode": "ATOMIC_CMP_AND_SWP", "sge": [eight],
         "remote_address": dst["address"], "rkey": dst["rkey"], "compare": "0xffffffffffffffff",
         "swap": "0x10", "flags": ["SIGNALED"]},
        {"id": "6", "opcode": "ATOMIC_FETCH_AND_ADD", "sge": [eight],
         "remote_address": dst["address"], "rkey": dst["rkey"], "add": "0x5",
         "flags": ["SIGNALED"]}])
    completion(agent, cq, id="5", status="SUCCESS", opcode="COMP_SWAP")
    completion(agent, cq, id="6", status="SUCCESS", opcode="FETCH_ADD")
    data = base64.b64decode(agent.call("mr_read", mr=dst["mr"], offset=0, length=8)["data"])
    equal(int.from_bytes(data, "little"), 0x15, "the atomics' target")

    agent.call("post_recv", qp=b, requests=[
        {"id": "7", "sge": [{"mr": dst["mr"], "offset": 0, "length": 64}]}])
    agent.call("post_send", qp=a, requests=[
        {"id": "8", "opcode": "SEND", "sge": [{"mr": src["mr"], "offset": 0, "length": 64}],
         "flags": ["SIGNALED", "INLINE"]}])
    for _ in range(2):
        agent.call("poll", cq=cq, max=1, wait_ms=5000)

    # A wrong rkey ends both QPs; what is posted then is flushed, and its queue is known.
    agent.call("post_recv", qp=a, requests=[{"id": "9", "sge": []}])
    agent.call("post_send", qp=a, requests=[
        {"id": "10", "opcode": "RDMA_WRITE", "sge": [piece], "remote_address": dst["address"],
         "rkey": dst["rkey"] ^ 0xFF, "flags": ["SIGNALED"]}])
    completion(agent, cq, id="10", status="REM_ACCESS_ERR", queue="send", opcode="RDMA_WRITE")
    completion(agent, cq, id="9", status="WR_FLUSH_ERR", queue="recv", opcode="RECV")
    equal(agent.call("qp_query", qp=a)["state"], "ERR", "the QP's state")


def check_waits(agent, cq):
    parked = agent.send("poll", cq=cq, max=1, wait_ms=60000)
    agent.call("ping")  # is not held up
    agent.call("cancel", id=parked)
    equal(agent.wait(parked), {"completions": [], "overrun": False}, "a cancelled wait")
    before = int(agent.call("ping")["at"])
    equal(agent.call("poll", cq=cq, max=1, wait_ms=50)["completions"], [], "an empty queue")
    waited = int(agent.call("ping")["at"]) - before
    if not 45e6 <= waited <= 2e9:
        raise AssertionError(f"a wait of 50 ms took {waited} ns")


def check_refusals(agent, pd, cq):
    equal(agent.refusal("nonsense")["code"], -32601, "an unknown method")
    equal(agent.refusal("cq_create")["code"], -32602, "a missing field")
    equal(agent.refusal("cq_create", depth="64")["code"], -32602, "a wrong type")
    equal(agent.refusal("cq_create", depth=2**31 - 1)["data"],
          {"verb": "cq_create", "errno": "EINVAL"}, "a queue too deep")
    error = agent.refusal("pd_destroy", pd=pd)
    equal((error["code"], error["data"]["errno"]), (-32000, "EBUSY"), "a PD in use")
    qp = agent.call("qp_create", pd=pd, type="RC", send_cq=cq, recv_cq=cq, max_send=1, max_recv=1)
    equal(agent.refusal("qp_modify", qp=qp["qp"], state="RTS")["data"],
          {"verb": "qp_modify", "errno": "EINVAL"}, "RESET to RTS")
    agent.call("qp_destroy", qp=qp["qp"])


def check_no_peer(agent, pd, cq, peer, gid_index):
    qp = agent.call("qp_create", pd=pd, type="RC", send_cq=cq, recv_cq=cq, max_send=4, max_recv=4)
    connect(agent, qp["qp"], peer, gid_index, 0x77)
    report = agent.call("qp_query", qp=qp["qp"])
    for name, value in {"state": "RTS", "path_mtu": 1024, "sq_psn": 100, "rq_psn": 100,
                        "dest_qp_num": 0x77, "timeout": 12, "retry_cnt": 1}.items():
        equal(report[name], value, f"{name} of qp_query")
    equal(report["ah_attr"]["address"], peer, "the peer's address of qp_query")
    mr = region(agent, pd, 64)
    agent.call("post_send", qp=qp["qp"], requests=[
        {"id": "11", "opcode": "SEND", "sge": [{"mr": mr["mr"], "offset": 0, "length": 64}],
         "flags": ["SIGNALED"]}])
    completion(agent, cq, id="11", status="RETRY_EXC_ERR", queue="send")
    agent.call("qp_destroy", qp=qp["qp"])
    agent.call("mr_deregister", mr=mr["mr"])


def check_notify(agent, address, gid_index):
    _, cq, qps = setup(agent)
    a, b = (qp["qp"] for qp in qps)
    connect(agent, a, address, gid_index, qps[1]["qpn"])
    connect(agent, b, address, gid_index, qps[0]["qpn"])
    equal(agent.call("cq_wait", cq=cq, wait_ms=0)["notified"], False, "a queue that is not armed")
    agent.call("cq_arm", cq=cq, solicited=True)
    agent.call("post_recv", qp=b, requests=[{"id": "1", "sge": []}, {"id": "2", "sge": []}])
    plain = {"id": "3", "opcode": "SEND", "sge": [], "flags": []}
    agent.call("post_send", qp=a, requests=[plain])
    equal(agent.call("cq_wait", cq=cq, wait_ms=100)["notified"], False, "an unsolicited SEND")
    agent.call("post_send", qp=a, requests=[dict(plain, flags=["SOLICITED"])])
    equal(agent.call("cq_wait", cq=cq, wait_ms=5000)["notified"], True, "a solicited SEND")


def check_groups(agent, address, gid_index):
    pd, cq, _ = setup(agent)
    srq = agent.call("srq_create", pd=pd, depth=8, limit=2)["srq"]
    qps = [agent.call("qp_create", pd=pd, type="RC", send_cq=cq, recv_cq=cq, srq=srq, max_send=8,
                      max_recv=0) for _ in range(2)]
    for mine, other in (qps, qps[::-1]):
        connect(agent, mine["qp"], address, gid_index, other["qpn"])
    agent.call("srq_post", srq=srq, requests=[{"id": "1", "sge": []}, {"id": "2", "sge": []}])
    agent.call("post_send", qp=qps[0]["qp"], requests=[
        {"id": "3", "opcode": "SEND", "sge": [], "flags": []}])
    completion(agent, cq, id="1", status="SUCCESS", queue="recv", qp=qps[1]["qp"])
    events = agent.call("events", wait_ms=5000)["events"]
    kinds = [(event["type"], event.get("srq")) for event in events if event["type"] != "COMM_EST"]
    equal(kinds, [("SRQ_LIMIT_REACHED", srq)], "events")

    mw = agent.call("mw_alloc", pd=pd, type=2)
    mr = agent.call("mr_register", pd=pd, length=4096,
                    access=["LOCAL_WRITE", "REMOTE_WRITE", "MW_BIND"])
    bound = agent.call("mw_bind", qp=qps[0]["qp"], mw=mw["mw"], mr=mr["mr"], offset=64, length=64,
                       access=["REMOTE_WRITE"], id="4")
    completion(agent, cq, id="4", status="SUCCESS", opcode="BIND_MW")
    equal(bound["rkey"] == mw["rkey"], False, "the window's key is as before")
    target = hex(int(mr["address"], 16) + 64)
    agent.call("post_send", qp=qps[1]["qp"], requests=[
        {"id": "5", "opcode": "RDMA_WRITE", "sge": [{"mr": mr["mr"], "offset": 0, "length": 64}],
         "remote_address": target, "rkey": bound["rkey"], "flags": ["SIGNALED"]}])
    completion(agent, cq, id="5", status="SUCCESS", opcode="RDMA_WRITE")


def check_datagrams(agent, address, gid_index):
    pd, cq, _ = setup(agent)
    qps = [agent.call("qp_create", pd=pd, type="UD", send_cq=cq, recv_cq=cq, max_send=8,
                      max_recv=8) for _ in range(2)]
    for qp in qps:
        agent.call("qp_modify", qp=qp["qp"], state="INIT", pkey_index=0, port_num=1, qkey=0x1234)
        agent.call("qp_modify", qp=qp["qp"], state="RTR")
        agent.call("qp_modify", qp=qp["qp"], state="RTS", sq_psn=0)
    mr = region(agent, pd, 256)
    agent.call("post_recv", qp=qps[1]["qp"], requests=[
        {"id": "1", "sge": [{"mr": mr["mr"], "offset": 0, "length": 256}]}])
    agent.call("post_send", qp=qps[0]["qp"], requests=[
        {"id": "2", "opcode": "SEND", "sge": [{"mr": mr["mr"], "offset": 0, "length": 64}],
         "ud": {"address": address, "gid_index": gid_index, "qpn": qps[1]["qpn"],
                "qkey": 0x1234}, "flags": []}])
    completion(agent, cq, id="1", status="SUCCESS", src_qpn=qps[0]["qpn"], byte_len=104)


def main():
    target, token_file, peer = sys.argv[1:]
    with open(token_file, encoding="utf-8") as file:
        token = file.readline().strip()
    agent = Agent(target, token)
    print(json.dumps(agent.welcome, indent=1))
    gids = {gid["address"]: gid["index"] for gid in agent.welcome["ports"][0]["gids"]}
    address = split(target)[0]
    index = gids[address]
    pd, cq, qps = setup(agent)
    connect(agent, qps[0]["qp"], address, index, qps[1]["qpn"])
    connect(agent, qps[1]["qp"], address, index, qps[0]["qpn"])
    check_memory(agent, pd)
    check_traffic(agent, pd, cq, qps)
    check_waits(agent, cq)
    check_refusals(agent, pd, cq)
    check_no_peer(agent, pd, cq, peer, index)
    check_notify(agent, address, index)
    check_datagrams(agent, address, index)
    check_groups(agent, address, index)
    print(json.dumps(agent.call("counters")))
    agent.call("reset")
    setup(agent)  # left to the end of the connection
    print("all as the contract says")


if __name__ == "__main__":
    try:
        main()
    except (AssertionError, Refused, EOFError) as error:
        print(f"not as the contract says: {error}", file=sys.stderr)
        sys.exit(1)
