"""RoCEv2 packets as bytes, and their socket.

A packet is read from a packet socket, because only there the whole IP header is seen, which the
ICRC covers. It leaves through a raw IP socket: the kernel finds the way and the neighbour.
"""

import ipaddress
import socket
import struct
import zlib

PORT = 4791
BTH = struct.Struct(">BBHII")


def icrc(ip, udp, transport):
    """The invariant CRC: CRC-32 over 8 bytes of ones and the packet, mutable fields as ones."""
    ip, udp, bth = bytearray(ip), bytearray(udp), bytearray(transport[:12])
    if ip[0] >> 4 == 4:
        ip[1] = ip[8] = ip[10] = ip[11] = 0xFF
    else:
        ip[0] |= 0x0F
        ip[1] = ip[2] = ip[3] = ip[7] = 0xFF
    udp[6] = udp[7] = 0xFF
    bth[4] = 0xFF
    masked = b"\xff" * 8 + bytes(ip) + bytes(udp) + bytes(bth) + bytes(transport[12:])
    return struct.pack("<I", zlib.crc32(masked))


def checksum(data):
    """The Internet checksum (RFC 1071)."""
    if len(data) % 2:
        data += b"\0"
    total = sum(struct.unpack(f">{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


class Packet:
    """A received packet: its addresses, the fields of its BTH, and the bytes after the BTH."""

    def __init__(self, source, destination, transport):
        self.source, self.destination = source, destination
        self.opcode, flags, self.pkey, qp, psn = BTH.unpack_from(transport)
        self.solicited = bool(flags & 0x80)
        self.pad = flags >> 4 & 3
        self.version = flags & 15
        self.dest_qp = qp & 0xFFFFFF
        self.ack_request = bool(psn >> 31)
        self.psn = psn & 0xFFFFFF
        self.body = bytes(transport[12:])


def parse(frame):
    """The RoCEv2 packet of an Ethernet frame; None if it is dropped silently."""
    kind = frame[12:14]
    datagram = frame[14:]
    if kind == b"\x08\x00" and len(datagram) >= 28:
        return parse_ipv4(datagram)
    if kind == b"\x86\xdd" and len(datagram) >= 48:
        return parse_ipv6(datagram)
    return None


def parse_ipv4(datagram):
    header = datagram[:20]
    total, _, fragment = struct.unpack_from(">HHH", header, 2)
    # RoCE sends no options (IHL above 5) and no fragments.
    if header[0] != 0x45 or header[9] != 17 or fragment & 0xBFFF or checksum(header):
        return None
    pseudo = header[12:20] + struct.pack(">BB", 0, 17)
    return parse_udp(header, datagram[20:total], total - 20, len(datagram) - 20, pseudo,
                     (header[12:16], header[16:20]))


def parse_ipv6(datagram):
    header = datagram[:40]
    payload = struct.unpack_from(">H", header, 4)[0]
    if header[0] >> 4 != 6 or header[6] != 17:
        return None
    return parse_udp(header, datagram[40:40 + payload], payload, len(datagram) - 40,
                     header[8:40] + b"\0\x11", (header[8:24], header[24:40]))


def parse_udp(header, segment, told, there, pseudo, addresses):
    if told > there or told < 8 + 12 + 4:
        return None
    _, port, length, check = struct.unpack_from(">HHHH", segment)
    if port != PORT or length != told:
        return None
    if check and checksum(pseudo + struct.pack(">H", length) + segment):
        return None
    transport, crc = segment[8:-4], segment[-4:]
    if icrc(header, segment[:8], transport) != crc:
        return None
    return Packet(*(ipaddress.ip_address(one) for one in addresses), transport)


class Way:
    """The path of a QP's packets to its peer."""

    def __init__(self, source, destination, port, hop_limit, traffic_class, flow_label):
        self.source, self.destination, self.port = source, destination, port
        self.hop_limit, self.traffic_class, self.flow_label = hop_limit, traffic_class, flow_label

    def datagram(self, transport, identification):
        length = 8 + len(transport) + 4
        udp = struct.pack(">HHHH", self.port, PORT, length, 0)
        if self.source.version == 4:
            ip = struct.pack(">BBHHHBBH", 0x45, self.traffic_class, 20 + length, identification,
                             0x4000, self.hop_limit, 17, 0)
        else:
            ip = struct.pack(">IHBB", 6 << 28 | self.traffic_class << 20 | self.flow_label, length,
                             17, self.hop_limit)
        ip += self.source.packed + self.destination.packed
        return ip + udp + transport + icrc(ip, udp, transport)


class Wire:
    """An interface: frames in, datagrams out. Needs CAP_NET_RAW."""

    def __init__(self, interface):
        self.frames = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
        self.frames.bind((interface, 3))
        self.frames.setsockopt(socket.SOL_SOCKET, 33, 16 << 20)  # SO_RCVBUFFORCE
        self.frames.setblocking(False)
        self.out = {4: socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW),
                    6: socket.socket(socket.AF_INET6, socket.SOCK_RAW, socket.IPPROTO_RAW)}
        # Without an owner of the port the kernel answers with ICMP port unreachable.
        self.owner = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
        self.owner.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1)
        self.owner.bind(("::", PORT))
        self.identification = 0

    def receive(self):
        """Some of the packets that have arrived; callers are served between batches."""
        for _ in range(64):
            try:
                frame, address = self.frames.recvfrom(65536)
            except BlockingIOError:
                return
            if address[2] == socket.PACKET_HOST:
                packet = parse(frame)
                if packet:
                    yield packet

    def send(self, way, transport):
        # Never 0: the kernel would replace it by its own number, and the ICRC would be wrong.
        self.identification = self.identification % 0xFFFF + 1
        datagram = way.datagram(transport, self.identification)
        try:
            self.out[way.source.version].sendto(datagram, (str(way.destination), 0))
        except OSError as error:  # a lost packet, which the transport repairs
            print(f"python agent: not sent: {error}", flush=True)
