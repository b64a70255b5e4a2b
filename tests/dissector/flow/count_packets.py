#!/usr/bin/env python3
"""Counts RC packets of captures without any of our code: the oracle of captures_test.cpp.

    python3 tests/dissector/flow/count_packets.py pcaps/*.pcap > tests/dissector/flow/counts.tsv

Only packets with a good ICRC count. A request is repeated if its PSN was seen before on its path
(source, destination, QP), or lies in the range of an earlier READ. A gap is a request whose PSN is
ahead of all before it, and skips some.
"""
import struct
import sys
import zlib
from pathlib import Path

READ, RESPONSES = 0x0C, range(0x0D, 0x13)


def frames(path):
    data = Path(path).read_bytes()
    at = 24
    while at + 16 <= len(data):
        size = struct.unpack_from("<I", data, at + 8)[0]
        yield data[at + 16:at + 16 + size]
        at += 16 + size


def roce(frame):
    """(source, destination, bytes from the BTH to the pad, ICRC is good), or None."""
    kind, at = struct.unpack_from("!H", frame, 12)[0], 14
    while kind == 0x8100:
        kind, at = struct.unpack_from("!H", frame, at + 2)[0], at + 4
    if kind == 0x0800 and frame[at + 9] == 17:
        size, src, dst = 20, frame[at + 12:at + 16], frame[at + 16:at + 20]
        masked = [1, 8, 10, 11]
    elif kind == 0x86DD and frame[at + 6] == 17:
        size, src, dst = 40, frame[at + 8:at + 24], frame[at + 24:at + 40]
        masked = [1, 2, 3, 7]
    else:
        return None
    udp = at + size
    if struct.unpack_from("!H", frame, udp + 2)[0] != 4791:
        return None
    end = udp + struct.unpack_from("!H", frame, udp + 4)[0]
    covered = bytearray(frame[at:end - 4])
    for byte in masked + [size + 6, size + 7, size + 8 + 4]:
        covered[byte] = 0xFF
    if size == 40:
        covered[0] |= 0x0F
    crc = zlib.crc32(b"\xff" * 8 + bytes(covered))
    good = struct.pack("<I", crc) == frame[end - 4:end]
    return src, dst, frame[udp + 8:end - 4], good


def count(path):
    packets = [p for p in map(roce, frames(path)) if p and p[3] and p[2][0] < 0x20]
    bodies = [len(p[2]) for p in packets]
    room = max(bodies, default=0)
    mtu = max(m for m in (256, 512, 1024, 2048, 4096) if m < max(room, 257))
    paths, n = {}, dict.fromkeys(
        "requests responses repeated gaps rnr_naks sequence_naks fatal_naks".split(), 0)
    for src, dst, bth, _ in packets:
        opcode, qp, psn = bth[0], bth[5:8], int.from_bytes(bth[9:12], "big")
        if opcode in RESPONSES:
            n["responses"] += 1
            syndrome = bth[12] if opcode != 0x0E else 0
            n["rnr_naks"] += syndrome >> 5 == 1
            n["sequence_naks"] += syndrome == 0x60
            n["fatal_naks"] += syndrome > 0x60
            continue
        n["requests"] += 1
        path = paths.setdefault((src, dst, qp), {"seen": set(), "next": psn})
        length = int.from_bytes(bth[24:28], "big") if opcode == READ else 0
        span = max(1, -(-length // mtu))
        ahead = (psn - path["next"]) % 2 ** 24
        n["repeated"] += psn in path["seen"]
        if ahead < 2 ** 23:
            n["gaps"] += ahead > 0
            path["next"] = (psn + span) % 2 ** 24
        if psn not in path["seen"]:
            path["seen"].update((psn + i) % 2 ** 24 for i in range(span))
    return n


def main():
    first = True
    for path in sys.argv[1:]:
        n = count(path)
        if first:
            print("# made by count_packets.py\n#capture\t" + "\t".join(n))
            first = False
        print(Path(path).stem + "\t" + "\t".join(str(v) for v in n.values()))


if __name__ == "__main__":
    main()
