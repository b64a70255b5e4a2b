#!/usr/bin/env python3
"""A second implementation of the DUT contract's minimum, from conformance/agent/README.md alone.

    agent.py --interface IFACE --address ADDR... --listen unix:PATH|ADDR:PORT [--token-file FILE]

A software RC device on IFACE, which speaks RoCEv2 by raw sockets: it needs CAP_NET_RAW, and that no
other RoCEv2 speaks at its addresses. It ends with SIGTERM.
"""

import argparse
import fcntl
import ipaddress
import json
import os
import select
import socket
import struct
import sys
import time

from device import Device
from packets import Wire
from session import LIMITS, Session

FIRST_LINE_BYTES, FIRST_LINE_SECONDS = 4096, 5


class Connection:
    def __init__(self, channel, session):
        self.channel, self.session = channel, session
        channel.setblocking(False)
        self.input, self.output = b"", b""
        self.since = time.monotonic()
        self.close_at = None  # after a wrong token

    def fileno(self):
        return self.channel.fileno()

    def read(self):
        """Takes what arrived; ConnectionError ends the connection."""
        data = self.channel.recv(1 << 20)
        if not data:
            raise ConnectionError
        self.input += data
        while b"\n" in self.input and self.close_at is None:
            line, self.input = self.input.split(b"\n", 1)
            self.allow(len(line))
            try:
                self.answer(self.session.take(line))
            except PermissionError:
                self.close_at = time.monotonic() + 1
            if not self.session.greeted and self.close_at is None:
                raise ConnectionError
        self.allow(len(self.input))

    def allow(self, length):
        if length > (LIMITS["line_bytes"] if self.session.greeted else FIRST_LINE_BYTES):
            raise ConnectionError

    def answer(self, answer):
        for one in answer if isinstance(answer, list) else [answer]:
            if one:
                self.output += json.dumps(one).encode() + b"\n"
        if len(self.output) > LIMITS["queued_bytes"]:
            raise ConnectionError
        self.write()

    def write(self):
        try:
            self.output = self.output[self.channel.send(self.output):] if self.output else b""
        except BlockingIOError:
            pass

    def tick(self, now):
        late = not self.session.greeted and now > self.since + FIRST_LINE_SECONDS
        if late or self.close_at is not None and now >= self.close_at:
            raise ConnectionError
        self.answer(self.session.ready(now))

    def due(self):
        times = [wait[0] for wait in self.session.waits]
        times += [self.close_at] if self.close_at is not None else []
        times += [self.since + FIRST_LINE_SECONDS] if not self.session.greeted else []
        return min(times, default=None)


class Server:
    def __init__(self, listener, device, token):
        self.listener, self.device, self.token = listener, device, token
        self.connections = []

    def run(self):
        """select() and not epoll: the timers of the contract's device are finer than 1 ms."""
        while True:
            dues = [self.device.due(), *(one.due() for one in self.connections)]
            due = min((at for at in dues if at is not None), default=None)
            patience = None if due is None else max(0, due - time.monotonic())
            readable, writable, _ = select.select(
                [self.listener, self.device.wire.frames, *self.connections],
                [one for one in self.connections if one.output], [], patience)
            if self.listener in readable:
                self.accept()
            if self.device.wire.frames in readable:
                self.device.receive()
            self.device.tick()
            for one in list(self.connections):
                self.serve(one, one in readable, one in writable)

    def serve(self, one, readable, writable):
        try:
            if writable:
                one.write()
            if readable:
                one.read()
            one.tick(time.monotonic())
        except OSError:
            one.session.reset()
            one.channel.close()
            self.connections.remove(one)

    def accept(self):
        channel, _ = self.listener.accept()
        if len(self.connections) >= LIMITS["connections"]:
            channel.close()
            return
        self.connections.append(Connection(channel, Session(self.device, self.token)))


def listen(where):
    if where.startswith("unix:"):
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(where[5:])
        os.chmod(where[5:], 0o600)
        listener.listen()
        return listener
    host, port = where.rsplit(":", 1)
    host = host.strip("[]")
    return socket.create_server((host, int(port)),
                                family=socket.AF_INET6 if ":" in host else socket.AF_INET)


def of_interface(name):
    """MAC address and MTU."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        ask = struct.pack("16s16x", name.encode())
        mac = fcntl.ioctl(any_socket, 0x8927, ask)[18:24]
        mtu = struct.unpack_from("i", fcntl.ioctl(any_socket, 0x8921, ask), 16)[0]
    return ":".join(f"{byte:02x}" for byte in mac), mtu


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--interface", required=True)
    parser.add_argument("--address", required=True, nargs="+")
    parser.add_argument("--listen", default="127.0.0.1:4790")
    parser.add_argument("--token-file")
    options = parser.parse_args()
    token = ""
    if options.token_file:
        if os.stat(options.token_file).st_mode & 0o077:
            sys.exit(f"{options.token_file} can be read by others: chmod 600")
        with open(options.token_file, encoding="ascii") as file:
            token = file.read().strip()
    local = options.listen.startswith("unix:") or ipaddress.ip_address(
        options.listen.rsplit(":", 1)[0].strip("[]")).is_loopback
    if not local and not token:
        sys.exit("on this address a --token-file is needed")
    device = Device(Wire(options.interface), options.address, *of_interface(options.interface))
    listener = listen(options.listen)
    print(f"python agent: {options.interface} on {options.listen}", flush=True)
    try:
        Server(listener, device, token).run()
    except OSError as error:
        sys.exit(f"python agent: {error}")  # the interface has gone


if __name__ == "__main__":
    main()
