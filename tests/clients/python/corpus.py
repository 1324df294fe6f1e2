"""Bad input: what no well-behaved client sends, made by a program so that it can be read.

    python3 corpus.py --write DIRECTORY

writes each input to a file; bad_input.py sends them to live sockets. Everything random comes from a fixed seed, so the corpus is the
same every time.
"""

import argparse
import pathlib
import random
import struct

# Where an input is sent.
RAW = "raw"  # a MySQL port, before the login
LOGGED_IN = "logged-in"  # a MySQL port, after a login
CLUSTER = "cluster"  # where nodes listen for each other
MANAGEMENT = "management"  # where management clients connect

CAPABILITIES = 0x00000001 | 0x00000200 | 0x00002000 | 0x00008000 | 0x00080000  # long password, 4.1, transactions, secure, plugin
CONNECT_WITH_DATABASE, SSL, ATTRIBUTES, LENENC_AUTH = 0x08, 0x800, 0x00100000, 0x00200000
COM_QUERY, COM_CHANGE_USER, COM_PREPARE, COM_EXECUTE, COM_LONG_DATA, COM_FETCH = 3, 0x11, 0x16, 0x17, 0x18, 0x1C
COM_SHUTDOWN = 8


class Input:
    """One input: its name, where it goes, its bytes, and the error numbers that may answer it (none given: anything may)."""

    def __init__(self, name, place, data, errors=None):
        self.name, self.place, self.data, self.errors = name, place, data, errors


def packet(payload, sequence=0):
    """A payload in MySQL frames."""
    frames = b""
    while True:
        part, payload = payload[:0xFFFFFF], payload[0xFFFFFF:]
        frames += struct.pack("<I", len(part))[:3] + bytes([sequence % 256]) + part
        sequence += 1
        if len(part) < 0xFFFFFF:
            return frames


def login(capabilities=CAPABILITIES, user=b"root\0", auth=b"\0", rest=b"mysql_native_password\0", charset=45):
    return struct.pack("<IIB23x", capabilities, 1 << 24, charset) + user + auth + rest


def query(text):
    return packet(bytes([COM_QUERY]) + (text if isinstance(text, bytes) else text.encode()))


def before_login():
    whole = packet(login(), 1)
    for size in range(len(whole)):
        yield Input(f"login cut at byte {size}", RAW, whole[:size])
    for lie in (0, 1, 31, len(whole) - 5, len(whole) + 100, 0xFFFFFE, 0xFFFFFF):
        yield Input(f"login with length {lie}", RAW, struct.pack("<I", lie)[:3] + whole[3:])
    for sequence in (0, 2, 255):
        yield Input(f"login with sequence number {sequence}", RAW, packet(login(), sequence))
    for capabilities in (0, 1, 0xFFFFFFFF, 0x200, SSL, SSL | CAPABILITIES):
        yield Input(f"login with capabilities {capabilities:#x}", RAW, packet(login(capabilities), 1))
    yield Input("TLS asked for, then garbage", RAW, packet(login(SSL | CAPABILITIES)[:32], 1) + b"\x16\x03\x01" + b"\xff" * 500)
    yield Input("TLS asked for, then a plain login", RAW, packet(login(SSL | CAPABILITIES)[:32], 1) + packet(login(), 2))
    for charset in (0, 1, 254, 255):
        yield Input(f"login with charset {charset}", RAW, packet(login(charset=charset), 1))
    with_attributes = CAPABILITIES | ATTRIBUTES
    for attributes in (b"\xfe" + b"\xff" * 8, b"\xfc\xff\xff", b"\x05\x01a\xfa", b"\x02\x01a", b"\xfb", b"\xff"):
        rest = b"mysql_native_password\0" + attributes
        yield Input(f"login with attributes {attributes.hex()}", RAW, packet(login(with_attributes, rest=rest), 1))
    for auth in (b"\xfe" + b"\xff" * 8, b"\xfc\xff\xff", b"\xfd\xff\xff\xff", b"\xff", b"\x14short"):
        yield Input(f"login with a proof {auth.hex()}", RAW, packet(login(CAPABILITIES | LENENC_AUTH, auth=auth), 1))
    yield Input("login without an end of the name", RAW, packet(login(user=b"r" * 200, auth=b"", rest=b""), 1))
    yield Input("login with a name of 100 KB", RAW, packet(login(user=b"r" * 100_000 + b"\0"), 1))
    yield Input("login with a name that is no UTF-8", RAW, packet(login(user=b"\xff\xfe\xc0\0"), 1))
    yield Input("login with an unknown plugin", RAW, packet(login(rest=b"x" * 5_000 + b"\0"), 1))
    database = CAPABILITIES | CONNECT_WITH_DATABASE
    yield Input("login with a database that is no UTF-8", RAW, packet(login(database, rest=b"\xff\xff\0mysql_native_password\0"), 1))
    yield Input("login with a database of 60 KB", RAW, packet(login(database, rest=b"d" * 60_000 + b"\0"), 1))
    yield Input("login of 20 MiB", RAW, packet(login(rest=b"\0" * (20 << 20)), 1))
    yield Input("a query instead of a login", RAW, query("SELECT 1"))
    yield Input("an HTTP request", RAW, b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
    yield Input("a TLS greeting", RAW, b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\x42" * 500)
    yield Input("nothing but zeros", RAW, b"\0" * 100_000)
    yield Input("many empty packets", RAW, b"".join(packet(b"", index) for index in range(10_000)))


def commands():
    """Every command byte, alone, with one byte, with many."""
    for command in range(256):
        yield Input(f"command {command:#04x} alone", LOGGED_IN, packet(bytes([command])))
        yield Input(f"command {command:#04x} with one byte", LOGGED_IN, packet(bytes([command, 0xFF])))
        yield Input(f"command {command:#04x} with 64 KiB", LOGGED_IN, packet(bytes([command]) + b"\xff" * 65_536))
    for command in (COM_QUERY, COM_PREPARE, COM_EXECUTE, COM_LONG_DATA, COM_CHANGE_USER, 0x02, 0x04, 0xEE):
        yield Input(f"command {command:#04x} with 20 MiB", LOGGED_IN, packet(bytes([command]) + b"\xff" * (20 << 20)))
    yield Input("an unknown command", LOGGED_IN, packet(b"\xee"), {1047})
    yield Input("an empty packet", LOGGED_IN, packet(b""))


def frames():
    """Headers that lie."""
    yield Input("a header without its packet", LOGGED_IN, b"\x64\x00\x00\x00" + b"0123456789")
    yield Input("a header of the longest packet, nothing after", LOGGED_IN, b"\xff\xff\xff\x00")
    yield Input("half a header", LOGGED_IN, b"\x01\x00")
    yield Input("a wrong sequence number", LOGGED_IN, packet(bytes([COM_QUERY]) + b"SELECT 1", 7))
    longest = b"\xff\xff\xff"
    parts = b"".join(longest + bytes([index]) + b"\x03" * 0xFFFFFF for index in range(5))
    yield Input("a packet over max_allowed_packet", LOGGED_IN, parts + b"\x01\x00\x00\x05x", {1153})
    yield Input("two hundred queries at once", LOGGED_IN, query("SELECT 1") * 200)
    yield Input("a query cut in two by the end", LOGGED_IN, query("SELECT 1")[:-3])


def statements():
    """The binary protocol out of order and out of bounds."""

    def execute(number, rest=b""):
        return packet(struct.pack("<BIBI", COM_EXECUTE, number, 0, 1) + rest)

    yield Input("execute what was never prepared", LOGGED_IN, execute(12_345), {1243})
    yield Input("fetch from what was never prepared", LOGGED_IN, packet(struct.pack("<BII", COM_FETCH, 12_345, 9)), {1243, 1421})
    yield Input("long data for what was never prepared", LOGGED_IN, packet(struct.pack("<BIH", COM_LONG_DATA, 77, 0) + b"x" * 100))
    yield Input("reset what was never prepared", LOGGED_IN, packet(struct.pack("<BI", 0x1A, 77)), {1243})
    yield Input("close what was never prepared", LOGGED_IN, packet(struct.pack("<BI", 0x19, 77)))
    prepare = packet(bytes([COM_PREPARE]) + b"SELECT ?, ?, ?")
    rests = {
        "no parameters": b"",
        "a short null bitmap": b"\x00",
        "types announced but missing": b"\x00\x01",
        "types cut": b"\x00\x01\x08\x00\x08",
        "values missing": b"\x00\x01\x08\x00\x08\x00\x08\x00",
        "values cut": b"\x00\x01\x08\x00\x08\x00\x08\x00" + b"\x01" * 20,
        "unknown types": b"\x00\x01\xaa\x00\xbb\x00\xcc\x00" + b"\x01" * 24,
        "types never told": b"\x00\x00" + b"\x01" * 24,
        "a string that lies": b"\x00\x01\xfd\x00\xfd\x00\xfd\x00" + b"\xfe" + b"\xff" * 8,
        "a string longer than the packet": b"\x00\x01\xfd\x00\xfd\x00\xfd\x00" + b"\xfc\xff\xffabc",
        "a time of 255 bytes": b"\x00\x01\x0c\x00\x0c\x00\x0c\x00" + b"\xff" * 30,
        "a time of 4 294 967 295 days": b"\x00\x01\x0b\x00\x0b\x00\x0b\x00" + b"\x08\x00\xff\xff\xff\xff\x17\x3b\x3b" * 3,
        "a date of month 77": b"\x00\x01\x0a\x00\x0a\x00\x0a\x00" + b"\x04\xe8\x07\x4d\x63" * 3,
        "a decimal that is none": b"\x00\x01\xf6\x00\xf6\x00\xf6\x00" + b"\x03a.b" * 3,
        "NaN and infinities": b"\x00\x01\x05\x00\x05\x00\x05\x00" + struct.pack("<ddd", float("nan"), float("inf"), -float("inf")),
        "more values than parameters": b"\x00\x01\x08\x00\x08\x00\x08\x00" + b"\x01" * 200,
    }
    for name, rest in rests.items():
        # Numbers of statements begin at 1 in a session.
        yield Input(f"execute with {name}", LOGGED_IN, prepare + execute(1, rest))
    yield Input("long data for a parameter that is not there", LOGGED_IN, prepare + packet(struct.pack("<BIH", COM_LONG_DATA, 1, 999) + b"x"))
    yield Input("long data of 20 MiB, never used", LOGGED_IN, prepare + packet(struct.pack("<BIH", COM_LONG_DATA, 1, 0) + b"x" * (20 << 20)))
    yield Input("prepare with 70 000 parameters", LOGGED_IN, packet(bytes([COM_PREPARE]) + b"SELECT " + b",".join([b"?"] * 70_000)), {1390, 1117, 1105, 1064})
    yield Input("execute with flags and counts of ones", LOGGED_IN, prepare + packet(struct.pack("<BIBI", COM_EXECUTE, 1, 255, 0xFFFFFFFF) + b"\xff" * 50))
    changed = bytes([COM_CHANGE_USER]) + b"root\0\0client_test\0\x2d\0mysql_native_password\0"
    for size in range(0, len(changed), 3):
        yield Input(f"change user cut at byte {size}", LOGGED_IN, packet(changed[: size + 1]))


def products():
    """Work that grows with the product of two sizes, unless somebody has thought of it."""
    for letter in ["a", "é"]:
        text, part = f"REPEAT('{letter}', 4000000)", f"CONCAT(REPEAT('{letter}', 1000000), 'b')"
        for call in [
            f"LOCATE({part}, {text})",
            f"INSTR({text}, {part})",
            f"LENGTH(REPLACE({text}, {part}, ''))",
            f"LENGTH(SUBSTRING_INDEX({text}, {part}, 2))",
            f"LENGTH(SUBSTRING_INDEX({text}, CONCAT('b', {part}), -2))",
            f"{text} LIKE CONCAT('%', {part})",
            f"{text} LIKE CONCAT('%', {part}, '%_')",
            f"FIND_IN_SET(CONCAT('{letter}', SPACE(1000000)), REPEAT('{letter},', 1000000))",
            f"LENGTH(TRIM({part} FROM {text}))",
        ]:
            yield Input(call.replace("é", "e acute"), LOGGED_IN, query(f"SELECT {call}"))
    long = "CONCAT(REPEAT('é', 20000), COLUMN_NAME)"
    columns = "information_schema.COLUMNS"
    yield Input("sorting long texts", LOGGED_IN, query(f"SELECT COLUMN_NAME FROM {columns} ORDER BY {long}"))
    yield Input("different long texts", LOGGED_IN, query(f"SELECT COUNT(DISTINCT {long}) FROM {columns}"))
    yield Input("groups of long texts", LOGGED_IN, query(f"SELECT {long} AS c, COUNT(*) FROM {columns} GROUP BY c LIMIT 1"))
    yield Input("joined long texts", LOGGED_IN, query(f"SELECT LENGTH(GROUP_CONCAT({long} ORDER BY {long} DESC)) FROM {columns}"))


def texts():
    """SQL that is too deep, too long, or no SQL."""
    deep = 10_000
    million = 1_000_000
    yield Input("10 000 parentheses", LOGGED_IN, query("SELECT " + "(" * deep + "1" + ")" * deep))
    yield Input("10 000 open parentheses", LOGGED_IN, query("SELECT " + "(" * deep))
    yield Input("10 000 times NOT", LOGGED_IN, query("SELECT " + "NOT " * deep + "1"))
    yield Input("10 000 minus signs", LOGGED_IN, query("SELECT " + "- " * deep + "1"))
    yield Input("10 000 nested calls", LOGGED_IN, query("SELECT " + "ABS(" * deep + "1" + ")" * deep))
    yield Input("10 000 nested CASEs", LOGGED_IN, query("SELECT " + "CASE WHEN 1 THEN " * deep + "1" + " END" * deep))
    yield Input("10 000 nested subqueries", LOGGED_IN, query("SELECT * FROM " + "(SELECT * FROM " * deep + "t" + ") x" * deep))
    yield Input("10 000 nested EXISTS", LOGGED_IN, query("SELECT " + "EXISTS(SELECT " * deep + "1" + ")" * deep))
    yield Input("10 000 UNIONs", LOGGED_IN, query(" UNION ".join(["SELECT 1"] * deep)))
    yield Input("10 000 nested comments", LOGGED_IN, query("/*" * deep + "*/" * deep + "SELECT 1"))
    yield Input("10 000 nested version comments", LOGGED_IN, query("/*!" * deep + " SELECT 1 " + "*/" * deep))
    yield Input("10 000 columns", LOGGED_IN, query("CREATE TABLE wide (" + ",".join(f"c{index} INT" for index in range(deep)) + ")"))
    yield Input("10 000 joins", LOGGED_IN, query("SELECT 1 FROM a" + " JOIN a" * deep))
    yield Input("10 000 INTERVALs", LOGGED_IN, query("SELECT NOW()" + " + INTERVAL 1 DAY" * deep))
    yield Input("10 000 BETWEENs", LOGGED_IN, query("SELECT 1" + " BETWEEN 0 AND 2" * deep))
    for name, term in [("1+1", "1+"), ("AND", "1 AND "), ("OR", "0 OR "), ("=", "1="), ("||", "'a'||"), ("->", "a->")]:
        yield Input(f"a million terms of {name}", LOGGED_IN, query("SELECT " + term * million + "1"))
    yield Input("a million values of IN", LOGGED_IN, query("SELECT 1 IN (" + ",".join(map(str, range(million))) + ")"))
    yield Input("a million columns", LOGGED_IN, query("SELECT " + ",".join(["1"] * million)))
    yield Input("a million rows", LOGGED_IN, query("INSERT INTO nothing.nothing VALUES " + ",".join(["(1)"] * million)))
    yield Input("a million empty statements", LOGGED_IN, query(";" * million))
    yield Input("a million spaces", LOGGED_IN, query(" " * million))
    yield Input("a number of a million digits", LOGGED_IN, query("SELECT " + "9" * million))
    yield Input("a fraction of a million digits", LOGGED_IN, query("SELECT 0." + "9" * million))
    yield Input("an exponent of a million", LOGGED_IN, query("SELECT 1e1000000"))
    yield Input("a name of a million letters", LOGGED_IN, query("SELECT " + "a" * million))
    yield Input("a quoted name of a million letters", LOGGED_IN, query("SELECT `" + "a" * million + "`"))
    yield Input("a string of 20 MiB", LOGGED_IN, query("SELECT LENGTH('" + "a" * (20 << 20) + "')"))
    yield Input("a hexadecimal literal of 20 MiB", LOGGED_IN, query("SELECT LENGTH(0x" + "ab" * (10 << 20) + ")"))
    yield Input("REPEAT of too much", LOGGED_IN, query("SELECT REPEAT('a', 9223372036854775807)"))
    yield Input("SPACE of too much", LOGGED_IN, query("SELECT LENGTH(SPACE(4294967295))"))
    yield Input("LPAD of too much", LOGGED_IN, query("SELECT LPAD('', 9223372036854775807, 'x')"))
    yield Input("REPEAT of REPEAT of REPEAT", LOGGED_IN, query("SELECT LENGTH(REPEAT(REPEAT(REPEAT('a', 10000), 10000), 10000))"))
    yield Input("a pattern of many percent signs", LOGGED_IN, query("SELECT REPEAT('a', 10000) LIKE '" + "%a" * 2_000 + "b'"))
    yield from products()
    yield Input("the largest LIMIT", LOGGED_IN, query("SELECT 1 LIMIT 18446744073709551615 OFFSET 18446744073709551615"))
    yield Input("a LIMIT beyond", LOGGED_IN, query("SELECT 1 LIMIT 99999999999999999999999"))
    yield Input("integer extremes", LOGGED_IN, query("SELECT -9223372036854775808 DIV -1, 9223372036854775807 + 1, -(-9223372036854775808)"))
    yield Input("dates out of range", LOGGED_IN, query("SELECT DATE_ADD('9999-12-31', INTERVAL 9223372036854775807 YEAR), FROM_DAYS(-1)"))
    for name, text in [
        ("bytes that are no UTF-8", b"SELECT '\xff\xfe\xc0\x80'"),
        ("a name that is no UTF-8", b"SELECT `\xff\xfe`"),
        ("a zero byte", b"SELECT \x00 1"),
        ("an open string", b"SELECT 'abc"),
        ("an open string ending in a backslash", b"SELECT 'abc\\"),
        ("an open name", b"SELECT `abc"),
        ("an open comment", b"SELECT 1 /* abc"),
        ("an open version comment", b"SELECT 1 /*!99999 abc"),
        ("only a comment", b"-- nothing"),
        ("only a semicolon", b";"),
        ("nothing", b""),
        ("a marker in text", b"SELECT ?"),
        ("garbage", bytes(range(256)) * 50),
        ("Unicode spaces", "SELECT\u00a0\u2003\u30001".encode()),
        ("a right-to-left override", "SELECT '\u202egnirts'".encode()),
        ("half a surrogate pair", b"SELECT '\xed\xa0\x80'"),
    ]:
        yield Input(f"text: {name}", LOGGED_IN, query(text))
    parts, uses = ",".join(["CONNECTION_ID()"] * 4_000), ",".join(["a"] * 4_000)
    yield Input("text: an alias of 4 000 parts, used 4 000 times", LOGGED_IN, query(f"SELECT CONCAT({parts}) AS a HAVING a IN ({uses})"), {1436})
    yield Input("text: 70 000 columns to order by", LOGGED_IN, query(f"SELECT 1 ORDER BY {','.join(f'CONNECTION_ID()+{number}' for number in range(70_000))}"), {1117, 1436})
    for name, texts in {
        "a sequence at its end": [
            "CREATE DATABASE IF NOT EXISTS bad_input",
            "DROP TABLE IF EXISTS bad_input.ended",
            "CREATE TABLE bad_input.ended (id BIGINT UNSIGNED AUTO_INCREMENT PRIMARY KEY)",
            "INSERT INTO bad_input.ended VALUES (18446744073709551615)",
            "INSERT INTO bad_input.ended VALUES (NULL)",
            "INSERT INTO bad_input.ended VALUES (NULL), (NULL)",
        ],
        "the last moment": ["SET timestamp = 9223372036854", "SET time_zone = '+14:00'", "SELECT NOW(), UTC_TIMESTAMP(), CURDATE()"],
        "a moment behind all": ["SET timestamp = 1e300", "SET time_zone = '-13:59'", "SELECT NOW() + INTERVAL 1 DAY"],
    }.items():
        yield Input(f"texts: {name}", LOGGED_IN, b"".join(query(text) for text in texts))


def other_ports():
    """Strangers on the ports of the cluster itself."""
    draw = random.Random(7)
    shared = {
        "nothing": b"",
        "one byte": b"\x01",
        "zeros": b"\0" * 100_000,
        "ones": b"\xff" * 100_000,
        "an HTTP request": b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n",
        "a MySQL login": packet(login(), 1),
        "a TLS greeting": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\x42" * 500,
        "lengths of ones": b"\xff\xff\xff\x7f" * 1_000,
        "a length and nothing": b"\x00\x10\x00\x00",
        "20 MiB": b"x" * (20 << 20),
        **{f"random bytes {index}": draw.randbytes(draw.randrange(1, 5_000)) for index in range(20)},
    }
    for name, data in shared.items():
        yield Input(f"cluster port: {name}", CLUSTER, data)
        yield Input(f"management port: {name}", MANAGEMENT, data)
    for name, line in {
        "an unknown verb": b"frobnicate\n",
        "a page's request": b"POST / HTTP/1.1\r\nHost: 127.0.0.1:1186\r\nContent-Length: 13\r\n\r\nshutdown dev\n2 stop\n1 stop\n",
        "a stop without authority": b"2 stop\n1 stop\nshutdown dev\n",
        "a wrong proof": b"authenticate\nauthenticate " + b"0" * 64 + b"\n1 stop\n",
        "an empty line": b"\n",
        "a thousand empty lines": b"\n" * 1_000,
        "a node that is not there": b"999 status\n",
        "a negative node": b"-1 stop\n",
        "a number beyond": b"99999999999999999999 stop\n",
        "stop of nothing": b"stop\n",
        "a long line": b"show " * 100_000 + b"\n",
        "a line without an end": b"show",
        "a carriage return": b"show\r\n",
        "zeros in a line": b"sh\0ow\n",
        "no UTF-8": b"\xff\xfe\xc0\n",
        "many requests at once": b"show\n" * 500,
    }.items():
        yield Input(f"management port: {name}", MANAGEMENT, line)


def random_bytes():
    draw = random.Random(1)
    for index in range(20):
        yield Input(f"random bytes {index} before the login", RAW, draw.randbytes(draw.randrange(1, 5_000)))
    for index in range(60):
        payload = bytes([draw.choice([3, 17, 22, 23, 24, 25, 26, 28])]) + draw.randbytes(draw.randrange(0, 300))
        yield Input(f"random command {index}", LOGGED_IN, packet(payload))
    words = b"SELECT FROM WHERE ( ) , * + - 1 'a' `t` NULL CASE END IN LIKE INSERT INTO VALUES UPDATE SET = ; AND OR NOT BY ORDER".split()
    for index in range(100):
        text = b" ".join(draw.choice(words) for _ in range(draw.randrange(1, 60)))
        yield Input(f"random words {index}", LOGGED_IN, query(text))


def corpus():
    """All of it."""
    for part in (before_login, commands, frames, statements, texts, random_bytes, other_ports):
        yield from part()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", type=pathlib.Path, required=True, help="a directory for one file for each input")
    directory = parser.parse_args().write
    directory.mkdir(parents=True, exist_ok=True)
    count = 0
    for count, one in enumerate(corpus(), 1):
        name = "".join(letter if letter.isalnum() else "-" for letter in one.name)[:80]
        (directory / f"{count:04}-{one.place}-{name}").write_bytes(one.data)
    print(f"{count} inputs in {directory}")


if __name__ == "__main__":
    main()
