"""Server-side prepared statements over a PyMySQL connection, which has none of its own.

Just enough of the binary protocol to prepare, execute with strings, integers, bytes and NULL, and read rows of integers and strings.
"""

import struct

from pymysql.constants import COMMAND, FIELD_TYPE
from pymysql.protocol import FieldDescriptorPacket

COM_STMT_CLOSE = 0x19
COM_STMT_EXECUTE = 0x17
COM_STMT_PREPARE = 0x16
INTEGERS = {
    FIELD_TYPE.TINY: "<b",
    FIELD_TYPE.SHORT: "<h",
    FIELD_TYPE.LONG: "<i",
    FIELD_TYPE.INT24: "<i",
    FIELD_TYPE.LONGLONG: "<q",
}


def lenenc(size):
    if size < 251:
        return bytes([size])
    if size < 1 << 16:
        return b"\xfc" + struct.pack("<H", size)
    if size < 1 << 24:
        return b"\xfd" + struct.pack("<I", size)[:3]
    return b"\xfe" + struct.pack("<Q", size)


class Prepared:
    """One prepared statement."""

    def __init__(self, connection, text):
        self.connection = connection
        connection._execute_command(COM_STMT_PREPARE, text)
        answer = connection._read_packet()
        answer.advance(1)
        self.id = answer.read_uint32()
        column_count = answer.read_uint16()
        self.parameter_count = answer.read_uint16()
        for count in (self.parameter_count, column_count):
            for _ in range(count):
                connection._read_packet(FieldDescriptorPacket)
            if count:
                connection._read_packet()  # the end of the definitions

    def execute(self, *arguments):
        """Rows, or the number of changed rows."""
        nulls = bytearray((len(arguments) + 7) // 8)
        types, values = b"", b""
        for index, argument in enumerate(arguments):
            if argument is None:
                nulls[index // 8] |= 1 << (index % 8)
                types += struct.pack("<H", FIELD_TYPE.NULL)
            elif isinstance(argument, int):
                types += struct.pack("<H", FIELD_TYPE.LONGLONG)
                values += struct.pack("<q", argument)
            else:
                encoded = argument if isinstance(argument, bytes) else argument.encode()
                kind = FIELD_TYPE.BLOB if isinstance(argument, bytes) else FIELD_TYPE.VAR_STRING
                types += struct.pack("<H", kind)
                values += lenenc(len(encoded)) + encoded
        bound = bytes(nulls) + b"\x01" + types + values if arguments else b""
        self.connection._execute_command(COM_STMT_EXECUTE, struct.pack("<IBI", self.id, 0, 1) + bound)
        answer = self.connection._read_packet()
        if answer.is_ok_packet():
            answer.advance(1)
            return answer.read_length_encoded_integer()
        columns = [
            self.connection._read_packet(FieldDescriptorPacket)
            for _ in range(answer.read_length_encoded_integer())
        ]
        self.connection._read_packet()  # the end of the definitions
        return list(self._rows(columns))

    def _rows(self, columns):
        null_size = (len(columns) + 9) // 8
        while True:
            packet = self.connection._read_packet()
            if packet.is_eof_packet():
                return
            packet.advance(1)
            nulls = packet.read(null_size)
            row = []
            for index, column in enumerate(columns):
                if nulls[(index + 2) // 8] >> ((index + 2) % 8) & 1:
                    row.append(None)
                elif column.type_code in INTEGERS:
                    form = INTEGERS[column.type_code]
                    row.append(struct.unpack(form, packet.read(struct.calcsize(form)))[0])
                else:
                    text = packet.read_length_coded_string()
                    row.append(text if column.charsetnr == 63 else text.decode())
            yield tuple(row)

    def close(self):
        # COM_STMT_CLOSE has no answer.
        self.connection._execute_command(COM_STMT_CLOSE, struct.pack("<I", self.id))
