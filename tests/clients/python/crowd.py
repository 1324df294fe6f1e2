"""Clients that want too much, by the thousand: what they hold has a limit, and the others go on.

    python3 crowd.py crowd --write-port 3306 --read-port 3307 --pid 4711 --pid 4712
    python3 crowd.py large --write-port 3306 --read-port 3307

`crowd` expects data nodes (the processes --pid) of 512 MiB; `large` nodes of 4 GiB, which keep a row of 64 MiB then.
"""

import resource
import socket
import struct
import threading
import time

import pymysql

from checks import Checks, connect, equal, fails_with, options, rows, run

DATABASE = "crowd_test"
MIB = 1 << 20
CONNECTIONS = 960
STRANGERS = 10_000
ROW = 64 * MIB


class Session:
    def __init__(self, chosen):
        self.host, self.write_port, self.read_port = chosen.host, chosen.write_port, chosen.read_port
        self.pids = chosen.pid
        self.writer = connect(self.host, self.write_port)
        run(self.writer, f"CREATE DATABASE IF NOT EXISTS {DATABASE}")
        self.writer.select_db(DATABASE)
        run(self.writer, "DROP TABLE IF EXISTS small")
        run(self.writer, "CREATE TABLE small (id INT PRIMARY KEY, v INT)")
        run(self.writer, "INSERT INTO small VALUES (1, 7)")

    def pages(self, column):
        """ClientMemory of the data nodes, in pages."""
        return [number for (number,) in rows(self.writer, f"SELECT {column} FROM ndbinfo.resources WHERE resource_name = 'ClientMemory' AND node_id > 1")]


class Bystander(threading.Thread):
    """A session that must not notice: it reads and writes all the time."""

    def __init__(self, session):
        super().__init__(daemon=True)
        self.connection = connect(session.host, session.write_port, database=DATABASE)
        self.done = threading.Event()
        self.count, self.error = 0, None

    def run(self):
        try:
            while not self.done.is_set():
                run(self.connection, "UPDATE small SET v = v + 1 WHERE id = 1")
                equal(len(rows(self.connection, "SELECT v FROM small WHERE id = 1")), 1)
                self.count += 1
        except Exception as error:  # told by finish(), in the main thread
            self.error = error

    def finish(self):
        self.done.set()
        self.join()
        if self.error is not None:
            raise self.error
        equal(self.count > 0, True, "the other session has worked")


def header(size, sequence):
    return struct.pack("<I", size)[:3] + bytes([sequence])


def raw(session, port, before=()):
    """A connection that has logged in, and its socket."""
    connection = connect(session.host, port, ssl_disabled=True)
    for text in before:
        run(connection, text)
    return connection, connection._sock


def error_of(sock):
    """Number of packet and errno of the error that comes next; nothing if the connection just ends."""
    try:
        answer = b""
        while len(answer) < 7:
            piece = sock.recv(100)
            if not piece:
                return None
            answer += piece
    except (ConnectionError, socket.timeout):
        return None
    equal(answer[4], 0xFF, "an error packet")
    return answer[3], struct.unpack("<H", answer[5:7])[0]


def unfinished_packets(session):
    """A thousand connections with packets of 16 MB that do not end: memory is bounded, some are told 1041, others go on and come in."""
    other = Bystander(session)
    other.start()
    crowd = [raw(session, port) for _ in range(CONNECTIONS // 2) for port in (session.write_port, session.read_port)]
    for _, sock in crowd:
        sock.settimeout(1)
        try:
            sock.sendall(header(16_000_000, 0))
            for _ in range(8):
                sock.sendall(b"x" * 65_536)
        except OSError:
            pass
    used, most = session.pages("used"), session.pages("max")
    equal(all(now <= limit for now, limit in zip(used, most)), True, f"{used} of {most} pages")
    for pid in session.pids:
        with open(f"/proc/{pid}/status") as status:
            resident = next(int(line.split()[1]) for line in status if line.startswith("VmRSS"))
        equal(resident < 512 * 1024, True, f"process {pid} has {resident} KiB")
    late = connect(session.host, session.read_port)
    equal(rows(late, "SELECT 1"), ((1,),), "others come in")
    late.close()
    refused = 0
    for connection, sock in crowd:
        sock.settimeout(0.01)
        refused += error_of(sock) == (1, 1041)
        sock.close()
        connection._rfile.close()
    print(f"   {refused} of {len(crowd)} were told 1041, {used} of {most} pages in use")
    equal(0 < refused < len(crowd), True, f"{refused} of {len(crowd)} were told 1041")
    other.finish()
    for _ in range(1_000):
        if all(now < limit // 10 for now, limit in zip(session.pages("used"), most)):
            return
        time.sleep(0.01)
    raise AssertionError(f"clients that are gone still have {session.pages('used')} of {most} pages")


def strangers(session):
    """Thousands that connect and say nothing: nobody who logs in is locked out."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    other = Bystander(session)
    other.start()
    crowd = []
    for index in range(min(STRANGERS, hard - 100)):
        sock = socket.socket()
        sock.settimeout(10)
        sock.connect((session.host, session.write_port))
        crowd.append(sock)
        if index % 500 == 499:
            late = connect(session.host, session.write_port)
            equal(rows(late, "SELECT 1"), ((1,),), "somebody who logs in")
            late.close()
    for sock in crowd:
        sock.close()
    other.finish()


def slow_senders(session):
    """Half a packet for longer than net_read_timeout: 1159. A result that nobody takes: the connection ends."""
    sender, sock = raw(session, session.write_port, ["SET net_read_timeout = 1, wait_timeout = 1"])
    sock.settimeout(30)
    sock.sendall(header(1_000, 0) + b"\x03SELECT ")
    equal(error_of(sock), (1, 1159), "half a packet")
    taker, sock = raw(session, session.write_port, ["SET net_write_timeout = 1"])
    number = taker.thread_id()
    query = b"\x03SELECT REPEAT('x', 30000000)"
    sock.sendall(header(len(query), 0) + query)
    for _ in range(3_000):
        if number not in [row[0] for row in rows(session.writer, "SHOW PROCESSLIST")]:
            break
        time.sleep(0.01)
    else:
        raise AssertionError("a client that takes nothing is still there after 30 seconds")
    sender._force_close()
    taker._force_close()


def too_large_packets(session):
    """1153 with the number that clients expect, after one frame and after many; the connection ends, the next is as good as ever."""
    for size in (1_100_000, 20 * MIB, 40 * MIB):
        run(session.writer, f"SET GLOBAL max_allowed_packet = {MIB}")
        connection = connect(session.host, session.write_port, max_allowed_packet=100 * MIB)
        run(session.writer, f"SET GLOBAL max_allowed_packet = DEFAULT")
        fails_with(1153, lambda: run(connection, "SELECT LENGTH('" + "x" * size + "')"))
        connection._force_close()
    equal(rows(connect(session.host, session.write_port), "SELECT 1"), ((1,),))


def large_row(session):
    """A row of 64 MiB is written, read at the other node, changed, and read again."""
    for connection in (session.writer, connect(session.host, session.read_port)):
        run(connection, f"SET GLOBAL max_allowed_packet = {2 * ROW}")
    other = Bystander(session)
    other.start()
    writer = connect(session.host, session.write_port, database=DATABASE, max_allowed_packet=2 * ROW)
    reader = connect(session.host, session.read_port, database=DATABASE, max_allowed_packet=2 * ROW)
    run(writer, "DROP TABLE IF EXISTS large")
    run(writer, "CREATE TABLE large (id INT PRIMARY KEY, v LONGBLOB)")
    for text in ("INSERT INTO large VALUES (1, _binary'{}')", "UPDATE large SET v = _binary'{}' WHERE id = 1"):
        value = text[0] * ROW
        run(writer, text.format(value))
        found = rows(reader, "SELECT v FROM large WHERE id = 1")[0][0]
        equal(len(found), ROW)
        equal(found == value.encode(), True, "what was written is read")
    other.finish()


STEPS = {"crowd": [unfinished_packets, strangers, slow_senders, too_large_packets], "large": [large_row]}


def main():
    parser = options(__doc__)
    parser.add_argument("what", choices=sorted(STEPS))
    parser.add_argument("--pid", type=int, action="append", default=[])
    chosen = parser.parse_args()
    session = Session(chosen)
    checks = Checks()
    for check in STEPS[chosen.what]:
        checks.run(check.__name__.replace("_", " "), check, session)
    checks.close()


if __name__ == "__main__":
    main()
