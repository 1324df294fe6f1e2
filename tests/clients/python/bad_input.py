"""Sends the corpus of bad input to live sockets.

    python3 bad_input.py --write-port 3306 --read-port 3307 --pid 4711 --cluster-port 2202 --management-port 1186

After each input a new connection must answer `SELECT 1`, on the port that got the input and on the other one, and every process
below --pid must be alive. An input may be answered by an error (by one of certain numbers, where the corpus says so), or by the end of
its connection; an input that is answered with a result was not bad after all, and nothing is held against that.
"""

import pathlib
import socket
import struct
import sys
import time

import pymysql

import corpus
from checks import connect, options, rows

# An input that gets no answer at all (half a packet) is left alone after this time.
PATIENCE_SECONDS = 0.05
# Statements of a million terms take their time, even to refuse.
ANSWER_SECONDS = 60


def children(pid):
    """A process and all below it, by reading /proc."""
    parents = {}
    for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            text = stat.read_text()
        except OSError:
            continue  # it has just ended
        parents[int(text.split()[0])] = int(text[text.rindex(")") + 2 :].split()[1])
    found = {pid}
    while True:
        more = {child for child, parent in parents.items() if parent in found} - found
        if not more:
            return found
        found |= more


def is_alive(pid):
    try:
        text = pathlib.Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return text[text.rindex(")") + 2] != "Z"


def receive(stream, size):
    data = b""
    while len(data) < size:
        part = stream.recv(size - len(data))
        if not part:
            raise ConnectionError("closed")
        data += part
    return data


def read_answer(stream):
    """The payload of the next packet."""
    header = receive(stream, 4)
    return receive(stream, int.from_bytes(header[:3], "little"))


def error_number(payload):
    """The number in an error packet; None for others."""
    return struct.unpack("<H", payload[1:3])[0] if payload[:1] == b"\xff" else None


def pour(stream, data):
    """Sends; a peer that closes while we send has given its answer."""
    try:
        stream.sendall(data)
    except OSError:
        pass


def send_raw(host, port, data, has_greeting):
    """Sends bytes before any login; gives the number of the error that answers, if one does."""
    with socket.create_connection((host, port), timeout=5) as stream:
        try:
            if has_greeting:
                read_answer(stream)
            pour(stream, data)
            stream.settimeout(PATIENCE_SECONDS)
            if has_greeting:
                return error_number(read_answer(stream))
            stream.recv(65_536)
        except OSError:
            pass  # closed, or silent: both are answers
    return None


def send_logged_in(host, port, data):
    """Sends bytes after a login; gives the number of the first error that answers, if one does."""
    connection = connect(host, port, client_flag=pymysql.constants.CLIENT.MULTI_STATEMENTS)
    stream = connection._sock
    try:
        stream.settimeout(ANSWER_SECONDS if is_answered(data) else PATIENCE_SECONDS)
        pour(stream, data)
        while True:
            number = error_number(read_answer(stream))
            if number is not None:
                return number
            # What follows a first answer, follows soon.
            stream.settimeout(PATIENCE_SECONDS)
    except OSError:
        return None
    finally:
        connection._force_close()


def is_answered(data):
    """Is the last packet whole, and of a command that is always answered (COM_QUERY and the like)?"""
    place = 0
    command = None
    while place + 4 <= len(data):
        size = int.from_bytes(data[place : place + 3], "little")
        if command is None or data[place + 3] == 0:
            command = data[place + 4 : place + 5]
        place += 4 + size
    return place == len(data) and command in (b"\x03", b"\x0e", b"\x16", b"\x17")


class Target:
    """Where the inputs go, and who must survive them."""

    def __init__(self, chosen):
        self.host = chosen.host
        self.mysql_ports = [chosen.write_port, chosen.read_port]
        self.cluster_ports = chosen.cluster_port
        self.management_ports = [chosen.management_port] if chosen.management_port else []
        self.processes = sorted(children(chosen.pid))

    def send(self, one):
        """Gives what is wrong with the answer, or None."""
        if one.place == corpus.CLUSTER:
            for port in self.cluster_ports:
                send_raw(self.host, port, one.data, has_greeting=False)
            return None
        if one.place == corpus.MANAGEMENT:
            for port in self.management_ports:
                send_raw(self.host, port, one.data, has_greeting=False)
            return None
        if one.place == corpus.RAW:
            number = send_raw(self.host, self.mysql_ports[0], one.data, has_greeting=True)
        else:
            number = send_logged_in(self.host, self.mysql_ports[0], one.data)
        if one.errors is not None and number not in one.errors:
            return f"answered by error {number}, expected one of {sorted(one.errors)}"
        return None

    def uncounted(self):
        """The nodes that do not count what came to their cluster ports as refused. None if there are none, or no ports to send to."""
        if not self.cluster_ports:
            return None
        text = "SELECT node_id FROM ndbinfo.counters WHERE counter_name = 'STRANGERS_REFUSED' AND val = 0"
        idle = rows(connect(self.host, self.mysql_ports[0]), text)
        return f"nodes {[node for node, in idle]} count no refused strangers" if idle else None

    def disturbed(self):
        """Who else has noticed? None if nobody."""
        dead = [pid for pid in self.processes if not is_alive(pid)]
        if dead:
            return f"processes {dead} have ended"
        for port in self.mysql_ports:
            try:
                other = connect(self.host, port, read_timeout=10)
                with other.cursor() as cursor:
                    cursor.execute("SELECT 1")
                    if cursor.fetchall() != ((1,),):
                        return f"port {port}: SELECT 1 is not 1"
                other.close()
            except pymysql.MySQLError as error:
                return f"port {port}: a new connection fails: {error}"
        return None


def main():
    parser = options(__doc__)
    parser.add_argument("--pid", type=int, required=True, help="the process whose tree must stay alive")
    parser.add_argument("--cluster-port", type=int, action="append", default=[], help="where nodes listen for each other")
    parser.add_argument("--management-port", type=int, help="where management clients connect")
    parser.add_argument("--peer", action="store_true", help="leave out COM_SHUTDOWN, which a real MySQL obeys")
    chosen = parser.parse_args()
    target = Target(chosen)
    count = failed = 0
    for one in corpus.corpus():
        if chosen.peer and one.data[4:5] == bytes([corpus.COM_SHUTDOWN]) and one.place == corpus.LOGGED_IN:
            continue
        count += 1
        begun = time.monotonic()
        wrong = target.send(one)
        disturbance = target.disturbed()
        seconds = time.monotonic() - begun
        if seconds > 10:
            print(f"slow: {one.name}: {seconds:.0f} s", flush=True)
        if wrong or disturbance:
            failed += 1
            print(f"FAILED {one.name}: {wrong or disturbance}", flush=True)
        if disturbance:
            break  # what comes after it would only fail as well
    uncounted = None if failed else target.uncounted()
    if uncounted:
        failed += 1
        print(f"FAILED {uncounted}", flush=True)
    print(f"{count} inputs sent, {len(target.processes)} processes watched")
    print(f"{count - failed} passed, {failed} failed")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
