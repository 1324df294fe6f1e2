"""What programs send when they connect, and what sql_mode and global variables do to sessions on two nodes. Part of client.py."""

import pymysql

from checks import connect, equal, fails_with, rows, run

# Written from what each of them documents that it sends, in its order.
GREETINGS = {
    "Connector/J": [
        "/* mysql-connector-j-8.4.0 */SELECT @@session.auto_increment_increment AS auto_increment_increment, @@character_set_client AS character_set_client,"
        " @@character_set_connection AS character_set_connection, @@character_set_results AS character_set_results, @@character_set_server AS character_set_server,"
        " @@collation_server AS collation_server, @@collation_connection AS collation_connection, @@init_connect AS init_connect,"
        " @@interactive_timeout AS interactive_timeout, @@license AS license, @@lower_case_table_names AS lower_case_table_names,"
        " @@max_allowed_packet AS max_allowed_packet, @@net_write_timeout AS net_write_timeout, @@performance_schema AS performance_schema,"
        " @@sql_mode AS sql_mode, @@system_time_zone AS system_time_zone, @@time_zone AS time_zone, @@transaction_isolation AS transaction_isolation,"
        " @@wait_timeout AS wait_timeout",
        "SET character_set_results = NULL",
        "SET sql_mode='STRICT_TRANS_TABLES'",
        "SET autocommit=1",
        "select @@session.transaction_read_only",
        "SET SQL_SELECT_LIMIT=DEFAULT",
        "SET net_write_timeout=600",
    ],
    "MariaDB Connector/J": [
        "SELECT @@max_allowed_packet, @@system_time_zone, @@time_zone, @@auto_increment_increment",
        "set session_track_schema=1, autocommit=1, sql_mode=concat(@@sql_mode,',STRICT_TRANS_TABLES')",
    ],
    "Connector/Python": ["SET NAMES 'utf8mb4' COLLATE 'utf8mb4_0900_ai_ci'", "SET @@session.autocommit = OFF", "SET @@session.time_zone = '+00:00'", "SELECT @@session.autocommit"],
    "Connector/NET": [
        "SHOW VARIABLES", "SELECT @@max_allowed_packet, @@character_set_client, @@character_set_connection, @@license, @@sql_mode, @@lower_case_table_names, @@autocommit",
        "SHOW COLLATION", "SET character_set_results=NULL",
    ],
    "go-sql-driver": ["SET NAMES utf8mb4", "SELECT @@max_allowed_packet"],
    "mysql_async": ["SELECT @@max_allowed_packet,@@wait_timeout,@@socket"],
    "Django": [
        "SELECT VERSION(), @@sql_mode, @@default_storage_engine, @@sql_auto_is_null, @@lower_case_table_names", "SET SQL_AUTO_IS_NULL = 0",
        "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED",
    ],
    "Rails": [
        "SET NAMES utf8mb4",
        "SET @@SESSION.sql_mode = CONCAT(CONCAT(@@sql_mode, ',STRICT_ALL_TABLES'), ',NO_AUTO_VALUE_ON_ZERO'),  @@SESSION.sql_auto_is_null = 0, @@SESSION.wait_timeout = 2147483",
        "SHOW VARIABLES LIKE 'collation_database'",
    ],
    "Laravel": [
        "set names 'utf8mb4' collate 'utf8mb4_unicode_ci'",
        "set session sql_mode='ONLY_FULL_GROUP_BY,STRICT_TRANS_TABLES,NO_ZERO_IN_DATE,NO_ZERO_DATE,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION'",
    ],
    "WordPress": ["SET NAMES 'utf8mb4' COLLATE 'utf8mb4_unicode_520_ci'", "SELECT @@SESSION.sql_mode", "SET SESSION sql_mode='ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION'"],
    "Drupal": ["SET NAMES utf8mb4", "SET sql_mode = 'ANSI,TRADITIONAL'", 'SELECT COUNT(*) FROM "information_schema"."tables"', "SELECT 'a' || 'b'"],
    "Hibernate": ["SET SESSION TRANSACTION READ ONLY", "SET SESSION TRANSACTION READ WRITE", "select @@session.transaction_isolation"],
    "Sequelize": ["SET time_zone = '+00:00'", "SELECT VERSION() as `version`", "SHOW SESSION VARIABLES LIKE 'lower_case%'"],
    "SQLAlchemy": ["SHOW VARIABLES LIKE 'sql_mode'", "SHOW VARIABLES LIKE 'lower_case_table_names'", "SELECT @@transaction_isolation"],
    "Prisma": ["SELECT @@lower_case_table_names", "SELECT @@GLOBAL.version", "SET foreign_key_checks=0"],
    "phpMyAdmin": ["SET lc_messages = 'de_DE'", "SET collation_connection = 'utf8mb4_unicode_ci'", "SHOW SESSION VARIABLES LIKE 'FOREIGN_KEY_CHECKS'", "SHOW GLOBAL VARIABLES"],
    "mysqldump": [
        "/*!40100 SET @@SQL_MODE='' */", "/*!40103 SET TIME_ZONE='+00:00' */", "/*!80000 SET SESSION information_schema_stats_expiry=0 */",
        "SET SESSION NET_READ_TIMEOUT= 86400, SESSION NET_WRITE_TIMEOUT= 86400", "SHOW VARIABLES LIKE 'gtid\\_mode'", "SELECT @@GLOBAL.GTID_MODE",
        "SHOW VARIABLES LIKE 'ndbinfo\\_version'", "SET SQL_QUOTE_SHOW_CREATE=1", "SET SESSION character_set_results = 'binary'", "SELECT @@collation_database",
    ],
    "a dump": [
        "/*!40101 SET @OLD_CHARACTER_SET_CLIENT=@@CHARACTER_SET_CLIENT */", "/*!50503 SET NAMES utf8mb4 */", "/*!40103 SET @OLD_TIME_ZONE=@@TIME_ZONE */", "/*!40103 SET TIME_ZONE='+00:00' */",
        "/*!40014 SET @OLD_UNIQUE_CHECKS=@@UNIQUE_CHECKS, UNIQUE_CHECKS=0 */", "/*!40014 SET @OLD_FOREIGN_KEY_CHECKS=@@FOREIGN_KEY_CHECKS, FOREIGN_KEY_CHECKS=0 */",
        "/*!40101 SET @OLD_SQL_MODE=@@SQL_MODE, SQL_MODE='NO_AUTO_VALUE_ON_ZERO' */", "/*!40111 SET @OLD_SQL_NOTES=@@SQL_NOTES, SQL_NOTES=0 */",
        "SET @MYSQLDUMP_TEMP_LOG_BIN = @@SESSION.SQL_LOG_BIN", "SET @@SESSION.SQL_LOG_BIN= 0", "/*!40101 SET SQL_MODE=@OLD_SQL_MODE */", "/*!40103 SET TIME_ZONE=@OLD_TIME_ZONE */",
    ],
    "mydumper": ["SET SESSION wait_timeout = 2147483", "SET SESSION net_write_timeout = 2147483", "SHOW VARIABLES LIKE 'ndb%'", "/*!40101 SET NAMES binary*/"],
}


def what_programs_send(session):
    for program, statements in GREETINGS.items():
        connection = connect(session.host, session.read_port)
        for statement in statements:
            try:
                rows(connection, statement)
            except Exception as error:
                raise AssertionError(f"{program}: {statement!r}: {error}") from error
        connection.close()


def modes_of_sessions(session):
    """Two sessions with different modes read one text each in its own way, and the driver escapes as the server says."""
    plain, other = session.another(), session.another()
    run(plain, "DROP TABLE IF EXISTS modes")
    run(plain, "CREATE TABLE modes (id INT PRIMARY KEY, c CHAR(5), r VARCHAR(20))")
    for connection, modes, joined, stored in [(plain, "", "0", "a\\"), (other, "ANSI,NO_BACKSLASH_ESCAPES,PAD_CHAR_TO_FULL_LENGTH", "ab", "b\\")]:
        run(connection, "SET sql_mode = %s", (modes,))
        number = len(modes) + 1
        for _ in range(2):
            equal(str(rows(connection, "SELECT 'a' || 'b'")[0][0]), joined, modes)
        run(connection, "INSERT INTO modes VALUES (%s, %s, %s)", (number, "x", stored))
        equal(rows(plain, f"SELECT r FROM modes WHERE id = {number}"), ((stored,),), "what the driver has escaped")
    equal(rows(plain, 'SELECT "id", c FROM modes WHERE id = 1'), (("id", "x"),))
    equal(rows(other, 'SELECT "id", c FROM "modes" WHERE "id" = 1'), ((1, "x    "),))
    equal(rows(other, "SELECT id FROM modes WHERE c = 'x' ORDER BY id LIMIT 1"), ((1,),))
    fails_with(1064, lambda: rows(plain, 'SELECT * FROM "modes"'))
    run(other, "CREATE TABLE reals (a REAL)")
    equal(rows(plain, "SHOW COLUMNS FROM reals")[0][1], "float")
    run(plain, "DROP TABLE reals")


def variables_of_the_cluster(session):
    """SET GLOBAL is there for new sessions of every node when it is answered; sessions that exist keep theirs."""
    writer, old = session.another(), connect(session.host, session.read_port)
    before = rows(writer, "SELECT @@global.sql_mode, @@global.max_allowed_packet")[0]
    run(writer, "SET GLOBAL sql_mode = 'ANSI', GLOBAL max_allowed_packet = 1048576, PERSIST wait_timeout = 1000, @a = 7")
    new = connect(session.host, session.read_port)
    for connection in [old, new, writer]:
        equal(rows(connection, "SELECT @@global.max_allowed_packet, @@global.wait_timeout"), ((1048576, 1000),))
    equal(rows(new, "SELECT @@max_allowed_packet, @@wait_timeout, 'a' || 'b'"), ((1048576, 1000, "ab"),))
    equal(rows(old, "SELECT @@wait_timeout, 'a' || 'b'"), ((28800, 0),))
    equal(rows(writer, "SELECT @a"), ((7,),))
    equal(rows(new, "SHOW GLOBAL VARIABLES LIKE 'wait_timeout'"), (("wait_timeout", "1000"),))
    equal(rows(new, "SELECT * FROM performance_schema.persisted_variables"), (("wait_timeout", "1000"),))
    fails_with(1193, lambda: run(writer, "SET GLOBAL wait_timeout = 5, GLOBAL no_such_variable = 1"))
    fails_with(1238, lambda: run(writer, "SET GLOBAL port = 1"))
    equal(rows(old, "SELECT @@global.wait_timeout"), ((1000,),))
    run(writer, "RESET PERSIST")
    run(writer, "SET GLOBAL sql_mode = DEFAULT, GLOBAL max_allowed_packet = DEFAULT, GLOBAL wait_timeout = DEFAULT")
    equal(rows(new, "SELECT @@global.sql_mode, @@global.max_allowed_packet")[0], before)
    equal(rows(new, "SELECT * FROM performance_schema.persisted_variables"), ())
    run(writer, "DROP USER IF EXISTS modes_user, modes_role")
    run(writer, "CREATE USER modes_user IDENTIFIED BY 'p'")
    run(writer, "CREATE ROLE modes_role")
    run(writer, "GRANT SELECT ON *.* TO modes_role")
    run(writer, "SET GLOBAL mandatory_roles = 'modes_role', GLOBAL activate_all_roles_on_login = ON")
    user = connect_as(session, "modes_user", "p")
    equal(rows(user, "SELECT CURRENT_ROLE()"), (("`modes_role`@`%`",),))
    fails_with(1227, lambda: run(user, "SET GLOBAL wait_timeout = 5"))
    run(writer, "SET GLOBAL mandatory_roles = DEFAULT, GLOBAL activate_all_roles_on_login = DEFAULT")
    run(writer, "DROP USER modes_user, modes_role")


def connect_as(session, user, password):
    return pymysql.connect(host=session.host, port=session.read_port, user=user, password=password)
