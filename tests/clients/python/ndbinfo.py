"""What nodes tell about themselves: every table of ndbinfo, and the numbers that a client can know.

    python3 ndbinfo.py --write-port 3306 --read-port 3307

Expects a cluster of two data nodes that both hold everything, and nobody else at work.
"""

import threading
import time

import pymysql

from checks import Checks, connect, equal, options, rows, run

DATABASE = "ndbinfo_test"
ROWS = 1_000
PATIENCE = 20
# Each of them ends in what only we have, or in a column that is never NULL: so all columns before it are in their places.
LAST_COLUMNS = {
    "blocks": "block_name",
    "config_nodes": "node_hostname",
    "config_params": "param_name",
    "config_values": "param_name",
    "dict_obj_info": "fq_name",
    "dict_obj_types": "type_name",
    "locks_per_fragment": "table_name",
    "membership": "closed_epoch",
    "memory_per_fragment": "table_name",
    "memoryusage": "total_pages",
    "nodes": "closed_epoch",
    "operations_per_fragment": "table_name",
    "processes": "node_id",
    "resources": "max_bytes",
    "table_distribution_status": "table_name",
    "table_fragments": "table_name",
    "table_info": "table_name",
    "threadblocks": "block_instance",
    "threads": "longest_call_of",
    "threadstat": "os_ru_stime",
    "transporters": "type",
}


class Session:
    def __init__(self, chosen):
        self.host, self.write_port, self.read_port = chosen.host, chosen.write_port, chosen.read_port
        self.main = connect(self.host, self.write_port)
        run(self.main, f"CREATE DATABASE IF NOT EXISTS {DATABASE}")
        self.main.select_db(DATABASE)
        run(self.main, "DROP TABLE IF EXISTS counted")
        run(self.main, "CREATE TABLE counted (id INT PRIMARY KEY, v INT)")
        values = ", ".join(f"({number}, 0)" for number in range(ROWS))
        run(self.main, f"INSERT INTO counted VALUES {values}")
        self.data_nodes = {node for node, in rows(self.main, "SELECT node_id FROM ndbinfo.nodes WHERE node_type = 'data'")}

    def value(self, text):
        ((value,),) = rows(self.main, text)
        return value


def every_table(session):
    names = [name for name, in rows(session.main, "SHOW TABLES FROM ndbinfo")]
    for name in names:
        with session.main.cursor() as cursor:
            cursor.execute(f"SELECT * FROM ndbinfo.{name}")
            cursor.fetchall()
        equal(rows(session.main, "SHOW WARNINGS"), (), f"warnings of {name}")
    missing = sorted(set(LAST_COLUMNS) - set(names))
    equal(missing, [], "tables that are not there")


def columns_are_in_their_places(session):
    for name, column in LAST_COLUMNS.items():
        count, named = rows(session.main, f"SELECT COUNT(*), COUNT({column}) FROM ndbinfo.{name}")[0]
        if count == 0 or named != count:
            raise AssertionError(f"{name}: {named} of {count} rows have a {column}")


def nodes_tell_of_themselves(session):
    found = rows(session.main, "SELECT node_id, uptime, status FROM ndbinfo.nodes WHERE node_type = 'data' ORDER BY node_id")
    equal([(node, status) for node, _, status in found], [(node, "STARTED") for node in sorted(session.data_nodes)])
    configured = rows(session.main, "SELECT node_id FROM ndbinfo.config_nodes WHERE node_type = 'NDB' ORDER BY node_id")
    equal([node for node, in configured], sorted(session.data_nodes))


def configuration(session):
    number = session.value("SELECT param_number FROM ndbinfo.config_params WHERE param_name = 'NoOfReplicas'")
    text = f"SELECT DISTINCT config_value FROM ndbinfo.config_values WHERE config_param = {number}"
    equal(rows(session.main, text), (("2",),))


def rows_are_counted(session):
    held = "table_name = 'counted' AND is_primary = 1"
    equal(session.value(f"SELECT SUM(row_count) FROM ndbinfo.memory_per_fragment WHERE {held}"), ROWS)
    equal(session.value(f"SELECT SUM(tot_key_inserts) FROM ndbinfo.operations_per_fragment WHERE {held}"), ROWS)
    equal(session.value("SELECT COUNT(*) FROM ndbinfo.operations_per_fragment WHERE table_name = 'counted' AND fq_name <> 'ndbinfo_test/def/counted'"), 0)
    run(session.main, "UPDATE counted SET v = v + 1 WHERE id < 10")
    run(session.main, "DELETE FROM counted WHERE id >= 990")
    text = f"SELECT SUM(tot_key_updates), SUM(tot_key_deletes), SUM(tot_key_reads) FROM ndbinfo.operations_per_fragment WHERE {held}"
    equal(rows(session.main, text), ((10, 10, None),))


def memory_agrees(session):
    used = "SELECT node_id, used, max, used_bytes, max_bytes FROM ndbinfo.resources WHERE resource_name = 'DataMemory' AND max > 0"
    for node, pages, most, used_bytes, most_bytes in rows(session.main, used):
        equal((used_bytes, most_bytes), (pages * 32768, most * 32768), f"bytes at node {node}")
    for node, kind, used_bytes, pages, most_bytes, most in rows(session.main, "SELECT * FROM ndbinfo.memoryusage"):
        equal((kind, used_bytes, most_bytes), ("Data memory", pages * 32768, most * 32768), f"node {node}")
        if not 0 < pages < most:
            raise AssertionError(f"node {node}: {pages} of {most} pages")
    equal({node for node, in rows(session.main, "SELECT node_id FROM ndbinfo.memoryusage")}, session.data_nodes)


def tables_are_described(session):
    number = session.value(f"SELECT id FROM ndbinfo.dict_obj_info WHERE fq_name = '{DATABASE}/def/counted'")
    equal(session.value(f"SELECT table_name FROM ndbinfo.table_info WHERE table_id = {number}"), "counted")
    partitions = session.value(f"SELECT tab_partitions FROM ndbinfo.table_distribution_status WHERE table_id = {number}")
    described = rows(session.main, f"SELECT current_primary, current_first_backup, num_alive_replicas FROM ndbinfo.table_fragments WHERE table_id = {number}")
    equal(len(described), partitions, "partitions")
    for primary, backup, alive in described:
        equal(({primary, backup}, alive), (session.data_nodes, 2))


def a_lock_wait_is_shown(session):
    holder = connect(session.host, session.write_port, database=DATABASE, autocommit=False)
    waiter = connect(session.host, session.read_port, database=DATABASE, autocommit=False)
    run(holder, "UPDATE counted SET v = 5 WHERE id = 77")
    end = []

    def wait():
        run(waiter, "SELECT * FROM counted WHERE id = 77 FOR UPDATE")
        waiter.rollback()
        end.append(True)

    thread = threading.Thread(target=wait, daemon=True)
    thread.start()
    text = "SELECT state, mode, op, waiting_for, lock_num, transid, table_name, fragmentid, rowid FROM ndbinfo.cluster_locks WHERE row_key = '77' ORDER BY state"
    until = time.monotonic() + PATIENCE
    while len(locks := rows(session.main, text)) < 2:
        if time.monotonic() > until:
            raise AssertionError(f"no lock wait is shown: {locks}")
    held, waiting = locks
    equal(held[:4], ("H", "X", "UPDATE", None))
    equal(waiting[:4], ("W", "X", "READ", held[4]))
    equal(held[6:], waiting[6:], "table, partition, row")
    equal(held[6], "counted")
    transactions = {held[5]: "UPDATE", waiting[5]: "READ-EX"}
    found = rows(session.main, "SELECT transid, operation_type FROM ndbinfo.cluster_operations WHERE row_key = '77'")
    equal(dict(found), transactions, "operations")
    found = rows(session.main, f"SELECT count_operations FROM ndbinfo.cluster_transactions WHERE transid = {held[5]}")
    equal(found, ((1,),), "transactions")
    # The session of the holder is one of the node that is asked; that of the waiter is not.
    number = rows(holder, "SELECT CONNECTION_ID()")[0][0]
    found = rows(session.main, "SELECT mysql_connection_id, transid, row_key FROM ndbinfo.server_locks WHERE row_key = '77'")
    equal(found, ((number, held[5], "77"),), "locks of the node's sessions")
    found = rows(session.main, "SELECT mysql_connection_id FROM ndbinfo.server_operations WHERE row_key = '77'")
    equal(found, ((number,),), "operations of the node's sessions")
    found = rows(session.main, f"SELECT transid FROM ndbinfo.server_transactions WHERE mysql_connection_id = {number}")
    equal(found, ((held[5],),), "transactions of the node's sessions")
    holder.commit()
    thread.join(PATIENCE)
    equal(end, [True], "the waiter went on")
    equal(rows(session.main, text), (), "locks that are left")
    held = "table_name = 'counted' AND is_primary = 1"
    found = rows(session.main, f"SELECT SUM(ex_wait_ok), SUM(ex_wait_fail) FROM ndbinfo.locks_per_fragment WHERE {held}")
    equal(found, ((1, 0),), "waits that were counted")


def keys_are_for_those_with_process(session):
    run(session.main, "CREATE USER IF NOT EXISTS watcher IDENTIFIED BY 'w'")
    run(session.main, "GRANT SELECT ON ndbinfo.* TO watcher")
    holder = connect(session.host, session.write_port, database=DATABASE, autocommit=False)
    run(holder, "DELETE FROM counted WHERE id = 5")
    watcher = pymysql.connect(host=session.host, port=session.write_port, user="watcher", password="w")
    text = "SELECT table_name, op, row_key FROM ndbinfo.cluster_locks WHERE table_name = 'counted'"
    equal(rows(watcher, text), (("counted", "DELETE", None),))
    equal(rows(session.main, text), (("counted", "DELETE", "5"),))
    holder.rollback()
    run(session.main, "DROP USER watcher")


def main():
    session = Session(options(__doc__).parse_args())
    checks = Checks()
    for check in (
        every_table,
        columns_are_in_their_places,
        nodes_tell_of_themselves,
        configuration,
        rows_are_counted,
        memory_agrees,
        tables_are_described,
        a_lock_wait_is_shown,
        keys_are_for_those_with_process,
    ):
        checks.run(check.__name__.replace("_", " "), check, session)
    checks.close()


if __name__ == "__main__":
    main()
