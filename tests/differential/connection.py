"""A client of the MySQL protocol that shows everything a server says.

Drivers hide what a comparison wants to see: column definitions, warning counts, insert ids, rows as they came. This one keeps them, for
COM_QUERY (text rows) and for COM_STMT_PREPARE, COM_STMT_EXECUTE, COM_STMT_CLOSE (binary rows), and turns binary values into the text
that the same value has in a text row, so that both protocols compare.

It speaks protocol 4.1 with EOF packets, without TLS, for an account without password: nothing else is needed on a private server.
"""
import collections
import socket
import struct

Column = collections.namedtuple(
    'Column', 'schema table original_table name original_name collation length type flags decimals')
# What came of a statement: `rows` of texts or None (and `columns`), or counts.
Rows = collections.namedtuple('Rows', 'columns rows warnings')
Done = collections.namedtuple('Done', 'affected insert_id warnings')
Refused = collections.namedtuple('Refused', 'number state message')

LONG_PASSWORD, FOUND_ROWS, LONG_FLAG, PROTOCOL_41, TRANSACTIONS = 0x1, 0x2, 0x4, 0x200, 0x2000
SECURE_CONNECTION, MULTI_RESULTS, PLUGIN_AUTH = 0x8000, 0x20000, 0x80000
CAPABILITIES = LONG_PASSWORD | LONG_FLAG | PROTOCOL_41 | TRANSACTIONS | SECURE_CONNECTION | MULTI_RESULTS | PLUGIN_AUTH

TINY, SHORT, LONG, FLOAT, DOUBLE, NULL, TIMESTAMP, LONGLONG, INT24, DATE, TIME, DATETIME, YEAR = 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13
UNSIGNED_FLAG = 32


class Reader:
    """Walks one payload."""

    def __init__(self, payload):
        self.payload, self.at = payload, 0

    def bytes(self, count):
        piece = self.payload[self.at:self.at + count]
        assert len(piece) == count, 'packet ends too early'
        self.at += count
        return piece

    def integer(self, size):
        return int.from_bytes(self.bytes(size), 'little')

    def length(self):
        """A length-encoded integer; None is NULL."""
        first = self.integer(1)
        if first == 0xFB:
            return None
        size = {0xFC: 2, 0xFD: 3, 0xFE: 8}.get(first)
        return self.integer(size) if size else first

    def text(self):
        """A length-encoded string; None is NULL."""
        length = self.length()
        return None if length is None else self.bytes(length)

    def rest(self):
        piece = self.payload[self.at:]
        self.at = len(self.payload)
        return piece


class Connection:
    def __init__(self, address, timeout=60, user='root'):
        host, port = address.rsplit(':', 1)
        self.socket = socket.create_connection((host, int(port)), timeout)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.file = self.socket.makefile('rb')
        self.sequence = 0
        self._log_in(user)

    def query(self, text):
        """One statement as text."""
        self._send(b'\x03' + text.encode())
        return self._answer(self._text_row)

    def execute(self, text, parameters=()):
        """One statement prepared, executed once with `parameters` (int, str or None), and closed."""
        self._send(b'\x16' + text.encode())
        first = self._receive()
        if first[0] == 0xFF:
            return self._refused(first)
        reader = Reader(first[1:])
        statement, columns, count = reader.integer(4), reader.integer(2), reader.integer(2)
        for definitions in (count, columns):
            for _ in range(definitions + (definitions > 0)):
                self._receive()
        assert count == len(parameters), f'{count} parameters in {text!r}'
        self._send(b'\x17' + struct.pack('<IBI', statement, 0, 1) + self._bound(parameters))
        answer = self._answer(self._binary_row)
        self._send(b'\x19' + struct.pack('<I', statement))
        return answer

    def close(self):
        self.file.close()
        self.socket.close()

    @staticmethod
    def _bound(parameters):
        if not parameters:
            return b''
        nulls = bytearray((len(parameters) + 7) // 8)
        types, values = b'', b''
        for index, value in enumerate(parameters):
            if value is None:
                nulls[index // 8] |= 1 << (index % 8)
                types += bytes([NULL, 0])
            elif isinstance(value, int):
                types += bytes([LONGLONG, 0])
                values += struct.pack('<q', value)
            else:
                encoded = value.encode()
                types += bytes([253, 0])
                values += b'\xfc' + struct.pack('<H', len(encoded)) + encoded
        return bytes(nulls) + b'\x01' + types + values

    def _send(self, payload):
        assert len(payload) < 0xFFFFFF
        self.socket.sendall(len(payload).to_bytes(3, 'little') + b'\x00' + payload)

    def _receive(self):
        header = self.file.read(4)
        if len(header) < 4:
            raise ConnectionError('the server has closed the connection')
        self.sequence = header[3]
        length = int.from_bytes(header[:3], 'little')
        assert length < 0xFFFFFF, 'a payload of several packets'
        payload = self.file.read(length)
        if len(payload) < length:
            raise ConnectionError('the server has closed the connection')
        return payload

    def _log_in(self, user):
        greeting = self._receive()
        if greeting[0] == 0xFF:
            raise ConnectionError(self._refused(greeting).message)
        login = struct.pack('<IIB23x', CAPABILITIES, 1 << 24, 45) + user.encode() + b'\x00' + b'\x00' + b'mysql_native_password\x00'
        self._reply(login)
        while True:
            packet = self._receive()
            if packet[0] == 0:
                return
            if packet[0] == 0xFF:
                raise ConnectionError(self._refused(packet).message)
            # Another plugin: no password is an empty answer for all of them. (1 is "go on" of caching_sha2_password.)
            if packet[0] == 0xFE:
                self._reply(b'')

    def _reply(self, payload):
        self.socket.sendall(len(payload).to_bytes(3, 'little') + bytes([self.sequence + 1]) + payload)

    @staticmethod
    def _refused(packet):
        return Refused(int.from_bytes(packet[1:3], 'little'), packet[4:9].decode(), packet[9:].decode(errors='replace'))

    def _answer(self, row):
        first = self._receive()
        if first[0] == 0xFF:
            return self._refused(first)
        reader = Reader(first)
        if first[0] == 0:
            reader.integer(1)
            affected, insert_id, _status = reader.length(), reader.length(), reader.integer(2)
            return Done(affected, insert_id, reader.integer(2))
        columns = [self._column(self._receive()) for _ in range(reader.length())]
        self._receive()
        rows = []
        while True:
            packet = self._receive()
            if packet[0] == 0xFE and len(packet) < 9:
                return Rows(columns, rows, int.from_bytes(packet[1:3], 'little'))
            if packet[0] == 0xFF:
                return self._refused(packet)
            rows.append(row(packet, columns))

    @staticmethod
    def _column(packet):
        reader = Reader(packet)
        texts = [reader.text().decode() for _ in range(6)][1:]
        reader.length()
        collation, length, kind, flags, decimals = struct.unpack('<HIBHB', reader.bytes(10))
        return Column(*texts, collation, length, kind, flags, decimals)

    @staticmethod
    def _text_row(packet, columns):
        reader = Reader(packet)
        return tuple(reader.text() for _ in columns)

    @classmethod
    def _binary_row(cls, packet, columns):
        reader = Reader(packet[1:])
        nulls = reader.bytes((len(columns) + 9) // 8)
        return tuple(None if nulls[(index + 2) // 8] >> ((index + 2) % 8) & 1 else cls._binary_value(reader, column)
                     for index, column in enumerate(columns))

    @staticmethod
    def _binary_value(reader, column):
        size = {TINY: 1, SHORT: 2, YEAR: 2, LONG: 4, INT24: 4, LONGLONG: 8}.get(column.type)
        if size:
            value = int.from_bytes(reader.bytes(size), 'little', signed=not column.flags & UNSIGNED_FLAG)
            return (b'%04d' if column.type == YEAR else b'%d') % value
        if column.type in (FLOAT, DOUBLE):
            value = struct.unpack('<f' if column.type == FLOAT else '<d', reader.bytes(4 if column.type == FLOAT else 8))[0]
            return repr(value).encode()
        if column.type in (DATE, DATETIME, TIMESTAMP):
            moment = Reader(reader.bytes(reader.length()))
            parts = [moment.integer(size) if moment.at < len(moment.payload) else 0 for size in (2, 1, 1, 1, 1, 1, 4)]
            date = b'%04d-%02d-%02d' % tuple(parts[:3])
            return date if column.type == DATE else date + b' %02d:%02d:%02d' % tuple(parts[3:6]) + fraction(parts[6], column.decimals)
        if column.type == TIME:
            span = Reader(reader.bytes(reader.length()))
            negative, days, hours, minutes, seconds, micros = (
                span.integer(size) if span.at < len(span.payload) else 0 for size in (1, 4, 1, 1, 1, 4))
            return (b'-' if negative else b'') + b'%02d:%02d:%02d' % (days * 24 + hours, minutes, seconds) + fraction(micros, column.decimals)
        return reader.text()


def fraction(micros, decimals):
    return b'.' + (b'%06d' % micros)[:decimals] if 0 < decimals <= 6 else b''
