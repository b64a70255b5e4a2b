// Frames of real Linux soft RoCE and of a user-space peer, byte by byte from captures made on a lab
// of two virtual machines. Each name says what it is; the file and the number of the frame stand
// beside.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>
#include <vector>

namespace veriroce::wire::frames {

// The bytes that a text like "52 54 00" names.
inline std::vector<std::byte> bytes_of(std::string_view text) {
    const auto digit = [](char c) { return c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10; };
    std::vector<std::byte> bytes;
    for (std::size_t i = 0; i + 1 < text.size(); ++i) {
        if (text[i] == ' ') continue;
        bytes.push_back(static_cast<std::byte>(digit(text[i]) << 4 | digit(text[i + 1])));
        ++i;
    }
    return bytes;
}

// rxe-lengths.pcap, frame 1: an empty SEND: 58 bytes, less than Ethernet's minimum.
inline const std::vector<std::byte> kSendOnlyEmpty =
    bytes_of("52 54 00 77 00 02 52 54 00 77 00 01 08 00 45 00 "
             "00 2c ca 6d 40 00 40 11 5b b7 0a 4d 00 01 0a 4d "
             "00 02 cc 78 12 b7 00 18 00 00 04 00 ff ff 00 00 "
             "00 39 80 00 10 00 70 6b b5 c2");

// rxe-lengths.pcap, frame 2: its acknowledge.
inline const std::vector<std::byte> kAck =
    bytes_of("52 54 00 77 00 01 52 54 00 77 00 02 08 00 45 00 "
             "00 30 db 6b 40 00 40 11 4a b5 0a 4d 00 02 0a 4d "
             "00 01 cc 78 12 b7 00 1c 00 00 11 00 ff ff 00 00 "
             "00 38 00 00 10 00 1f 00 00 01 af 33 3e 7a");

// rxe-lengths.pcap, frame 3: a SEND of 1 byte, with 3 pad bytes.
inline const std::vector<std::byte> kSendOnlyPadded =
    bytes_of("52 54 00 77 00 02 52 54 00 77 00 01 08 00 45 00 "
             "00 30 ca 6e 40 00 40 11 5b b2 0a 4d 00 01 0a 4d "
             "00 02 cc 78 12 b7 00 1c 00 00 04 30 ff ff 00 00 "
             "00 39 80 00 10 01 11 00 00 00 b0 e1 85 a0");

// rxe-lengths.pcap, frame 18.
inline const std::vector<std::byte> kSendLast =
    bytes_of("52 54 00 77 00 02 52 54 00 77 00 01 08 00 45 00 "
             "00 30 ca 76 40 00 40 11 5b aa 0a 4d 00 01 0a 4d "
             "00 02 cc 78 12 b7 00 1c 00 00 02 30 ff ff 00 00 "
             "00 39 80 00 10 09 47 00 00 00 76 6b 6f 07");

// rxe-lengths.pcap, frame 45: an RDMA WRITE of 1 byte.
inline const std::vector<std::byte> kWriteOnly =
    bytes_of("52 54 00 77 00 02 52 54 00 77 00 01 08 00 45 00 "
             "00 40 ca 89 40 00 40 11 5b 87 0a 4d 00 01 0a 4d "
             "00 02 cc 78 12 b7 00 2c 00 00 0a 30 ff ff 00 00 "
             "00 39 80 00 10 1c 00 00 7f 1b 45 cb 80 00 00 00 "
             "2e 52 00 00 00 01 c2 00 00 00 0c 35 21 f6");

// rxe-lengths.pcap, frame 101.
inline const std::vector<std::byte> kReadRequest =
    bytes_of("52 54 00 77 00 02 52 54 00 77 00 01 08 00 45 00 "
             "00 3c ca ab 40 00 40 11 5b 69 0a 4d 00 01 0a 4d "
             "00 02 cc 78 12 b7 00 28 00 00 0c 00 ff ff 00 00 "
             "00 39 80 00 10 3d 00 00 7f 1b 45 cb 80 00 00 00 "
             "2e 52 00 00 04 00 ee d9 f0 20");

// rxe-lengths.pcap, frame 105.
inline const std::vector<std::byte> kReadResponseLast =
    bytes_of("52 54 00 77 00 01 52 54 00 77 00 02 08 00 45 00 "
             "00 34 db 94 40 00 40 11 4a 88 0a 4d 00 02 0a 4d "
             "00 01 cc 78 12 b7 00 20 00 00 0f 30 ff ff 00 00 "
             "00 38 00 00 10 3f 1f 00 00 27 f8 00 00 00 34 58 "
             "d8 d8");

// rxe-lengths.pcap, frame 90.
inline const std::vector<std::byte> kReadResponseOnly =
    bytes_of("52 54 00 77 00 01 52 54 00 77 00 02 08 00 45 00 "
             "00 34 db 8c 40 00 40 11 4a 90 0a 4d 00 02 0a 4d "
             "00 01 cc 78 12 b7 00 20 00 00 10 30 ff ff 00 00 "
             "00 38 00 00 10 37 1f 00 00 20 c2 00 00 00 d0 22 "
             "fa 2d");

// rxe-send-imm.pcap, frame 1.
inline const std::vector<std::byte> kSendOnlyImm =
    bytes_of("52 54 00 77 00 02 52 54 00 77 00 01 08 00 45 00 "
             "00 30 c8 72 40 00 40 11 5d ae 0a 4d 00 01 0a 4d "
             "00 02 cb 2e 12 b7 00 1c 00 00 05 80 ff ff 00 00 "
             "00 36 80 00 10 00 a0 00 00 00 13 c6 70 5d");

// rxe-atomic.pcap, frame 1.
inline const std::vector<std::byte> kCompareSwap =
    bytes_of("52 54 00 77 00 01 52 54 00 77 00 02 08 00 45 00 "
             "00 48 be 93 40 00 40 11 67 75 0a 4d 00 02 0a 4d "
             "00 01 c4 84 12 b7 00 34 00 00 13 00 ff ff 00 00 "
             "00 22 80 2b 87 b6 00 00 55 95 dc 8e b0 00 00 00 "
             "10 d6 00 00 00 00 00 00 00 00 00 00 00 00 00 00 "
             "00 00 5f 8d 48 b1");

// rxe-atomic.pcap, frame 61.
inline const std::vector<std::byte> kFetchAdd =
    bytes_of("52 54 00 77 00 01 52 54 00 77 00 02 08 00 45 00 "
             "00 48 c0 32 40 00 40 11 65 d6 0a 4d 00 02 0a 4d "
             "00 01 c4 c9 12 b7 00 34 00 00 14 00 ff ff 00 00 "
             "00 23 80 30 d5 dc 00 00 56 25 d0 ec a0 00 00 00 "
             "11 0d 00 00 00 00 00 00 00 01 00 00 00 00 00 00 "
             "00 00 5b 32 aa f5");

// rxe-atomic.pcap, frame 100.
inline const std::vector<std::byte> kAtomicAck =
    bytes_of("52 54 00 77 00 02 52 54 00 77 00 01 08 00 45 00 "
             "00 38 b0 dc 40 00 40 11 75 3c 0a 4d 00 01 0a 4d "
             "00 02 c4 c9 12 b7 00 24 00 00 12 00 ff ff 00 00 "
             "00 23 00 30 d5 e5 1f 00 00 0a 68 bf 18 ff 0e dc "
             "b7 f1 37 0b 5a 9f");

// rxe-ud-verbs.pcap, frame 1: UD: DETH and ImmDt.
inline const std::vector<std::byte> kUdSendOnlyImm =
    bytes_of("52 54 00 77 00 02 52 54 00 77 00 01 08 00 45 00 "
             "00 3c d5 15 40 00 40 11 50 ff 0a 4d 00 01 0a 4d "
             "00 02 d6 c3 12 b7 00 28 00 00 65 30 ff ff 00 00 "
             "00 46 00 00 00 77 11 11 11 11 00 00 00 45 00 00 "
             "00 00 11 00 00 00 20 93 c7 e8");

// rxe-rnr-nak.pcap, frame 10: timer code 20.
inline const std::vector<std::byte> kRnrNak =
    bytes_of("52 54 00 77 00 01 52 54 00 77 00 02 08 00 45 00 "
             "00 30 df 57 40 00 40 11 46 c9 0a 4d 00 02 0a 4d "
             "00 01 ce c6 12 b7 00 1c 00 00 11 00 ff ff 00 00 "
             "00 3d 00 00 10 00 34 00 00 00 25 e6 02 70");

// rxe-nak-access-read.pcap, frame 2: remote access error.
inline const std::vector<std::byte> kNakAccess =
    bytes_of("52 54 00 77 00 01 52 54 00 77 00 02 08 00 45 00 "
             "00 30 e1 b1 40 00 40 11 44 6f 0a 4d 00 02 0a 4d "
             "00 01 d0 40 12 b7 00 1c 00 00 11 00 ff ff 00 00 "
             "00 40 00 00 10 00 62 00 00 00 8e 82 eb 1e");

// rxe-rping-cm-v6.pcap, frame 11: IPv6.
inline const std::vector<std::byte> kAckV6 =
    bytes_of("52 54 00 77 00 02 52 54 00 77 00 01 86 dd 60 00 "
             "00 00 00 1c 11 40 fd 77 00 00 00 00 00 00 00 00 "
             "00 00 00 00 00 01 fd 77 00 00 00 00 00 00 00 00 "
             "00 00 00 00 00 02 ea f2 12 b7 00 1c 00 00 11 00 "
             "ff ff 00 00 00 2f 00 f1 cd 17 1f 00 00 02 6d 4d "
             "23 3d");

// rxe-rping-cm-v6.pcap, frame 10: IPv6, 16 bytes.
inline const std::vector<std::byte> kSendOnlyV6 =
    bytes_of("52 54 00 77 00 01 52 54 00 77 00 02 86 dd 60 00 "
             "00 00 00 28 11 40 fd 77 00 00 00 00 00 00 00 00 "
             "00 00 00 00 00 02 fd 77 00 00 00 00 00 00 00 00 "
             "00 00 00 00 00 01 ea f2 12 b7 00 28 00 00 04 00 "
             "ff ff 00 00 00 2f 80 f1 cd 17 00 00 55 91 df 93 "
             "90 e0 00 00 1e 2e 00 00 00 64 1b 54 55 7b");

// rxe-vlan.pcap, frame 9: VLAN 77.
inline const std::vector<std::byte> kReadRequestVlan =
    bytes_of("52 54 00 77 00 02 52 54 00 77 00 01 81 00 00 4d "
             "08 00 45 00 00 3c 6b 39 40 00 40 11 ba d9 0a 4e "
             "00 01 0a 4e 00 02 c1 21 12 b7 00 28 00 00 0c 00 "
             "ff ff 00 00 00 11 80 00 10 06 00 00 7f 91 57 9d "
             "20 00 00 00 02 39 00 00 09 c4 77 15 8c c3");

// rxe-vlan.pcap, frame 17: VLAN 77.
inline const std::vector<std::byte> kAckVlan =
    bytes_of("52 54 00 77 00 02 52 54 00 77 00 01 81 00 00 4d "
             "08 00 45 00 00 30 6b 7b 40 00 40 11 ba a3 0a 4e "
             "00 01 0a 4e 00 02 c1 44 12 b7 00 1c 00 00 11 00 "
             "ff ff 00 00 00 12 00 8e 4b c2 1f 00 00 01 3b 24 "
             "43 76");

// userspace-peer-rc.pcap, frame 2: from a UDP socket: the checksum was the card's to finish.
inline const std::vector<std::byte> kUnfinishedChecksum =
    bytes_of("52 54 00 77 00 01 92 5c 99 d1 9b 30 08 00 45 00 "
             "00 6c 00 00 40 00 40 11 24 e9 0a 4d 00 fe 0a 4d "
             "00 01 12 b7 12 b7 00 58 16 02 04 40 ff ff 00 00 "
             "00 4f 80 25 db a8 7b 7b 7b 7b 7b 7b 7b 7b 7b 7b "
             "7b 7b 7b 7b 7b 7b 7b 7b 7b 7b 7b 7b 7b 7b 7b 7b "
             "7b 7b 7b 7b 7b 7b 7b 7b 7b 7b 7b 7b 7b 7b 7b 7b "
             "7b 7b 7b 7b 7b 7b 7b 7b 7b 7b 7b 7b 7b 7b 7b 7b "
             "7b 7b 7b 7b 7b 7b 08 51 d6 c2");

// All of them but the last: those whose checks all succeed.
inline const std::array kSealed{&kSendOnlyEmpty,    &kAck,
                                &kSendOnlyPadded,   &kSendLast,
                                &kWriteOnly,        &kReadRequest,
                                &kReadResponseLast, &kReadResponseOnly,
                                &kSendOnlyImm,      &kCompareSwap,
                                &kFetchAdd,         &kAtomicAck,
                                &kUdSendOnlyImm,    &kRnrNak,
                                &kNakAccess,        &kAckV6,
                                &kSendOnlyV6,       &kReadRequestVlan,
                                &kAckVlan};

} // namespace veriroce::wire::frames
