"""A stranger in the network of a cluster: without a key, and with keys of a cluster of the same name that is another one.

Run in a network namespace that is no node's. Whatever it says to the ports of nodes, it sees closed connections only, and no byte but those of a TLS
handshake. The SQL ports greet it, as they greet everybody.
"""

import argparse
import resource
import socket
import ssl
import struct
import sys

PATIENCE = 20


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def frame(payload):
    return struct.pack("<II", len(payload), crc32c(payload)) + payload


def answer(address, data):
    """What comes back before the connection is closed."""
    with socket.create_connection(address, PATIENCE) as connection:
        connection.settimeout(PATIENCE)
        received = b""
        try:
            connection.sendall(data)
            connection.shutdown(socket.SHUT_WR)
            while piece := connection.recv(65536):
                received += piece
        except TimeoutError:
            raise
        except OSError:
            # It is closed already.
            pass
        return received


def speak_tls(address, context, data):
    """The same through TLS; in TLS 1.3 a client learns that its certificate is refused only when it reads."""
    with socket.create_connection(address, PATIENCE) as plain:
        plain.settimeout(PATIENCE)
        try:
            with context.wrap_socket(plain) as connection:
                connection.sendall(data)
                return connection.recv(65536)
        except TimeoutError:
            raise
        except OSError:
            return b""


def crowd(address, count):
    """So many connections at once, as far as the limit of open files goes, which is raised as far as it can be."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < count + 100:
        try:
            hard = count + 100
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        except (ValueError, OSError):
            _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    held = [socket.create_connection(address, PATIENCE) for _ in range(min(count, hard - 100))]
    print(f"{len(held)} connections at once to {address[0]}:{address[1]}" + ("" if len(held) == count else f", not {count}: the limit of open files is {hard}"))
    return held


def contexts(folder):
    for certificate in [None, "node3/ndb-data-node", "node1/ndb-mgm-server", "client/ndb-api"]:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        if certificate:
            context.load_cert_chain(f"{folder}/{certificate}-cert", f"{folder}/{certificate}-private-key")
        yield certificate, context


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--cluster-port", action="append", default=[])
    arguments.add_argument("--management-port", action="append", default=[])
    arguments.add_argument("--sql-port", action="append", default=[])
    arguments.add_argument("--keys", required=True)
    arguments.add_argument("--connections", type=int, default=10_000)
    given = arguments.parse_args()

    def places(words):
        return [(host, int(port)) for host, port in (word.rsplit(":", 1) for word in words)]

    # "LATS", a wire version, and a hello that names another node's id; a notice that a node has ended.
    hello = frame(b"LATS" + struct.pack("<H", 1) + b"\x07\x00\x00\x00netns12" + bytes(32))
    notice = frame(b"LATN" + struct.pack("<H", 1) + b"\x01" + b"\x05\x00\x00\x00netns" + bytes(10))
    rubbish = {
        "nothing": b"",
        "HTTP": b"POST / HTTP/1.1\r\nHost: db\r\nContent-Length: 14\r\n\r\nshutdown netns\n",
        "zeros": bytes(100_000),
        "ones": b"\xff" * 64,
        "a hello": hello,
        "the same hello again": hello,
        "a notice": notice,
        "half of TLS": bytes([22, 3, 1, 2, 0, 1, 0, 1, 252, 3, 3]) + b"x" * 20,
        "broken TLS": bytes([22, 3, 1, 0, 60]) + b"\x01" * 60,
        "a command": b"shutdown netns\n",
    }
    wrong = []
    for address in places(given.cluster_port) + places(given.management_port):
        for name, data in rubbish.items():
            said = answer(address, data)
            # A TLS alert tells nothing but that there is TLS.
            if said and not said.startswith(b"\x15\x03"):
                wrong.append(f"{address} answers {said[:60]!r} to {name}")
        for certificate, context in contexts(given.keys):
            for data in [b"show\n", hello, notice]:
                said = speak_tls(address, context, data)
                if said:
                    wrong.append(f"{address} answers {said[:60]!r} to TLS with {certificate}")
    waiting = []
    targets = [given.cluster_port[0], given.management_port[0], given.sql_port[-1]]
    for target in places(targets):
        for connection in waiting:
            connection.close()
        waiting = crowd(target, given.connections)
    for address in places(given.sql_port)[:-1]:
        with socket.create_connection(address, PATIENCE) as connection:
            connection.settimeout(PATIENCE)
            if not connection.recv(100):
                wrong.append(f"the SQL port {address} does not greet")
    for connection in waiting:
        connection.close()
    print("\n".join(wrong) or "the stranger saw closed connections only")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
