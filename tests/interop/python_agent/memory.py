"""Regions of memory between guards, and the patterns that fill them."""

import struct

PAGE = 4096
WORD = (1 << 64) - 1


def splitmix64(state):
    x = (state + 0x9E3779B97F4A7C15) & WORD
    x = ((x ^ x >> 30) * 0xBF58476D1CE4E5B9) & WORD
    x = ((x ^ x >> 27) * 0x94D049BB133111EB) & WORD
    return x ^ x >> 31


WORDS = {
    "zero": lambda index, key: 0,
    "ones": lambda index, key: WORD,
    "offsets": lambda index, key: (8 * index + key) & WORD,
    "random": lambda index, key: splitmix64((index + (key << 32)) & WORD),
}


def pattern(name, key, offset, length):
    first, last = offset // 8, (offset + length + 7) // 8
    word = WORDS[name]
    data = struct.pack(f">{last - first}Q", *(word(index, key) for index in range(first, last)))
    return data[offset % 8:offset % 8 + length]


def crc32c_table():
    for value in range(256):
        for _ in range(8):
            value = value >> 1 ^ (0x82F63B78 if value & 1 else 0)
        yield value


CRC32C = tuple(crc32c_table())


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = CRC32C[(crc ^ byte) & 0xFF] ^ crc >> 8
    return crc ^ 0xFFFFFFFF


class Region:
    """A registered range: a page before it, the rest of its last page and one more are guards."""

    def __init__(self, pd, length, access, address, key):
        self.pd, self.length, self.access = pd, length, frozenset(access)
        self.lkey = self.rkey = key
        self.address = 0 if "ZERO_BASED" in access else address
        self.tail = PAGE + -length % PAGE
        self.bytes = bytearray(b"\xa5" * PAGE + bytes(length) + b"\xa5" * self.tail)

    def read(self, offset, length):
        return bytes(self.bytes[PAGE + offset:PAGE + offset + length])

    def write(self, offset, data):
        self.bytes[PAGE + offset:PAGE + offset + len(data)] = data

    def holds(self, offset, length):
        return offset >= 0 and offset + length <= self.length

    def guards_intact(self):
        return (self.bytes[:PAGE] == b"\xa5" * PAGE
                and self.bytes[PAGE + self.length:] == b"\xa5" * self.tail)
