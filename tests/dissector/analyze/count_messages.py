#!/usr/bin/env python3
"""Messages and their latencies in captures without any of our C++: the oracle of captures_test.cpp.

    python3 tests/dissector/analyze/count_messages.py pcaps/*.pcap > tests/dissector/analyze/messages.tsv

Only captures with one RC connection, of packets with a good ICRC. A message begins with its first
packet and ends when a response acknowledges its last PSN: an ACK or READ response of that PSN or a
later one, a NAK of a later one; a READ ends with its last response, an atomic with its answer.
"""
import struct
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "flow"))
from count_packets import READ, RESPONSES, roce  # noqa: E402

KINDS = {**dict.fromkeys(range(0x00, 0x06), "SEND"), 0x16: "SEND", 0x17: "SEND",
         **dict.fromkeys(range(0x06, 0x0C), "WRITE"), READ: "READ",
         0x13: "COMPARE_SWAP", 0x14: "FETCH_ADD"}
ENDS = {0x02, 0x03, 0x04, 0x05, 0x08, 0x09, 0x0A, 0x0B, 0x0C, 0x13, 0x14, 0x16, 0x17}
HEADERS = {0x03: 4, 0x05: 4, 0x06: 16, 0x09: 4, 0x0A: 16, 0x0B: 20, 0x0C: 16, 0x13: 28, 0x14: 28,
           0x16: 4, 0x17: 4}


def timed(path):
    data = Path(path).read_bytes()
    nano = struct.unpack_from("<I", data, 0)[0] == 0xA1B23C4D
    at = 24
    while at + 16 <= len(data):
        seconds, part, size = struct.unpack_from("<III", data, at)
        yield seconds * 10 ** 9 + part * (1 if nano else 1000), data[at + 16:at + 16 + size]
        at += 16 + size


def ahead(start, psn):
    distance = (psn - start) % 2 ** 24
    return distance - 2 ** 24 if distance >= 2 ** 23 else distance


def count(path):
    packets = [(t, *p) for t, f in timed(path) if (p := roce(f)) and p[3] and p[2][0] < 0x20]
    requests = {(p[1], p[2], p[3][5:8]) for p in packets if p[3][0] not in RESPONSES}
    paths = {(p[1], p[2], p[3][5:8]) for p in packets}
    if len({frozenset(p[:2]) for p in paths}) != 1 or len(paths) != 2 or not requests:
        return None
    room = max(len(p[3]) for p in packets)
    mtu = max(m for m in (256, 512, 1024, 2048, 4096) if m < max(room, 257))
    latencies, repeated, naks = {}, 0, set()
    for source, destination, qp in requests:
        seen, messages, current = set(), [], None
        for time, src, dst, bth, _ in packets:
            opcode, psn = bth[0], int.from_bytes(bth[9:12], "big")
            if (src, dst, bth[5:8]) == (source, destination, qp) and opcode not in RESPONSES:
                if psn in seen:
                    repeated += 1
                    continue
                length = int.from_bytes(bth[24:28], "big") if opcode == READ else 0
                span = max(1, -(-length // mtu))
                seen.update((psn + i) % 2 ** 24 for i in range(span))
                payload = len(bth) - 12 - HEADERS.get(opcode, 0) - (bth[1] >> 4 & 3)
                if opcode in (0x00, 0x06) or current is None:
                    current = {"kind": KINDS[opcode], "time": time, "bytes": 0}
                if opcode in (0x06, 0x0A, 0x0B):  # the RETH has the length
                    current["bytes"] = int.from_bytes(bth[24:28], "big")
                elif KINDS[opcode] != "WRITE":
                    current["bytes"] += length if opcode == READ else payload
                if opcode in ENDS:
                    current["last"] = (psn + span - 1) % 2 ** 24
                    messages.append(current)
                    current = None
            elif (src, dst) == (destination, source) and opcode in RESPONSES:
                syndrome = bth[12] if opcode != 0x0E else 0
                positive = syndrome >> 5 == 0
                if syndrome == 0x60:
                    naks.add((source, psn))
                for message in messages:
                    beyond = ahead(message["last"], psn)
                    if message["kind"] in ("READ", "COMPARE_SWAP", "FETCH_ADD"):
                        done = beyond == 0 and positive
                    else:
                        done = beyond >= 0 if positive else beyond > 0
                    if done and "latency" not in message:
                        message["latency"] = time - message["time"]
        for message in messages:
            if "latency" in message:
                latencies.setdefault(message["kind"], []).append(message)
    return repeated, len(naks), latencies


def main():
    print("# made by count_messages.py\n#capture\trepeated\tmissed\tmessages: kind count bytes "
          "shortest longest sum of latencies in ns")
    for path in sys.argv[1:]:
        found = count(path)
        if not found:
            continue
        repeated, naks, latencies = found
        texts = []
        for kind, messages in sorted(latencies.items()):
            times = [m["latency"] for m in messages]
            texts.append(f"{kind} {len(messages)} {sum(m['bytes'] for m in messages)} {min(times)} "
                         f"{max(times)} {sum(times)}")
        print(Path(path).stem, repeated, naks, ";".join(texts), sep="\t")


if __name__ == "__main__":
    main()
