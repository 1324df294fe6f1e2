// Connector/J's DatabaseMetaData: what tools in Java ask about a schema, once by information_schema and once by SHOW.
//
//     java -cp mysql-connector-j.jar Metadata.java --host 127.0.0.1 --write-port 3306 --read-port 3307
//
// Each call's answer is a few lines of text, some columns of each row, and must be what stands beside the call. Methods without a
// line of their own are called, too: none may fail, and each result has to have the columns that JDBC wants.

import java.sql.Connection;
import java.sql.DatabaseMetaData;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.ResultSetMetaData;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

public class Metadata {
    private static final String DATABASE = "metadata";

    private static final String[] SCHEMA = {
        "DROP DATABASE IF EXISTS " + DATABASE,
        "CREATE DATABASE " + DATABASE + " CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_ai_ci",
        "USE " + DATABASE,
        "CREATE TABLE author (id INT NOT NULL AUTO_INCREMENT PRIMARY KEY, name VARCHAR(50) NOT NULL DEFAULT 'x',"
                + " born DATE, salary DECIMAL(10,2), big BIGINT UNSIGNED, flag BIT(1), is_ok TINYINT(1), data LONGBLOB,"
                + " at DATETIME(6) DEFAULT CURRENT_TIMESTAMP(6) ON UPDATE CURRENT_TIMESTAMP(6), kind ENUM('a','bc'),"
                + " twice INT AS (CHAR_LENGTH(name)) STORED, KEY by_name (name, born DESC), UNIQUE KEY by_big (big)) COMMENT 'writers'",
        "CREATE TABLE book (author_id INT NOT NULL, number SMALLINT NOT NULL, title TEXT COMMENT 'its name', ratio DOUBLE,"
                + " PRIMARY KEY (author_id, number), KEY by_title (title(20)))",
        "CREATE VIEW title AS SELECT author_id, title FROM book",
        "INSERT INTO author (name, big) VALUES ('a', 1), ('b', 2), ('c', 3)",
    };

    /** A call of DatabaseMetaData. */
    interface Call {
        ResultSet on(DatabaseMetaData metadata) throws SQLException;
    }

    private final DatabaseMetaData metadata;
    private final String name;
    /** The driver asks by SHOW, and makes some columns otherwise. */
    private final boolean isShow;
    private int failures;
    private int checked;

    private Metadata(String name, DatabaseMetaData metadata) {
        this.name = name;
        this.isShow = name.equals("useInformationSchema=false");
        this.metadata = metadata;
    }

    public static void main(String[] arguments) throws Exception {
        Map<String, String> options = new HashMap<>();
        for (int i = 0; i + 1 < arguments.length; i += 2) {
            options.put(arguments[i], arguments[i + 1]);
        }
        String url = "jdbc:mysql://" + options.getOrDefault("--host", "127.0.0.1") + ":" + options.get("--write-port")
                + "/?user=root&password=&sslMode=PREFERRED&tinyInt1isBit=true";
        try (Connection connection = DriverManager.getConnection(url); Statement statement = connection.createStatement()) {
            for (String text : SCHEMA) {
                statement.execute(text);
            }
        }
        int failures = 0;
        for (String way : List.of("&useInformationSchema=true", "&useInformationSchema=false", "&databaseTerm=SCHEMA")) {
            try (Connection connection = DriverManager.getConnection(url.replace("/?", "/" + DATABASE + "?") + way)) {
                Metadata checks = new Metadata(way.substring(1), connection.getMetaData());
                boolean isCatalog = !way.contains("SCHEMA");
                checks.ofTables(isCatalog ? DATABASE : null, isCatalog ? null : DATABASE);
                checks.ofKeys(isCatalog ? DATABASE : null, isCatalog ? null : DATABASE);
                checks.ofTheServer(isCatalog);
                checks.ofNothing(isCatalog ? DATABASE : null, isCatalog ? null : DATABASE);
                checks.ofResults(connection);
                failures += checks.failures;
                System.out.println("ok " + checks.name + ": " + checks.checked + " answers");
            }
        }
        if (failures > 0) {
            throw new AssertionError(failures + " answers are other ones");
        }
    }

    private void ofTables(String catalog, String schema) {
        check("getTables", m -> m.getTables(catalog, schema, "%", null), "TABLE_NAME,TABLE_TYPE,REMARKS",
                isShow
                        ? new String[] {"author,TABLE,", "book,TABLE,", "title,VIEW,"}
                        : new String[] {"author,TABLE,writers", "book,TABLE,", "title,VIEW,VIEW"});
        check("getTables of a kind", m -> m.getTables(catalog, schema, "%o%", new String[] {"TABLE"}), "TABLE_NAME",
                "author", "book");
        check("getTables of all databases", m -> m.getTables(null, null, "tit_e", new String[] {"VIEW"}), "TABLE_NAME", "title");
        check("getColumns", m -> m.getColumns(catalog, schema, "author", "%"),
                "COLUMN_NAME,DATA_TYPE,TYPE_NAME,COLUMN_SIZE,DECIMAL_DIGITS,NULLABLE,COLUMN_DEF,ORDINAL_POSITION,IS_AUTOINCREMENT,IS_GENERATEDCOLUMN",
                "id,4,INT,10,null,0,null,1,YES,NO",
                "name,12,VARCHAR,50,null,0,x,2,NO,NO",
                "born,91,DATE,10,null,1,null,3,NO,NO",
                "salary,3,DECIMAL,10,2,1,null,4,NO,NO",
                "big,-5,BIGINT UNSIGNED,20,null,1,null,5,NO,NO",
                "flag,-7,BIT,1,null,1,null,6,NO,NO",
                "is_ok,-7,BIT,1,null,1,null,7,NO,NO",
                "data,-4,LONGBLOB,2147483647,null,1,null,8,NO,NO",
                "at,93,DATETIME,26,null,1,CURRENT_TIMESTAMP(6),9,NO,YES",
                "kind,1,ENUM,2,null,1,null,10,NO,NO",
                "twice,4,INT,10,null,1,null,11,NO,YES");
        check("getColumns of a pattern", m -> m.getColumns(catalog, schema, "b%", "t%"), "TABLE_NAME,COLUMN_NAME,REMARKS,IS_NULLABLE",
                "book,title,its name,YES");
        check("getColumns of a view", m -> m.getColumns(catalog, schema, "title", null), "COLUMN_NAME,TYPE_NAME", "author_id,INT", "title,TEXT");
        check("getColumnPrivileges", m -> m.getColumnPrivileges(catalog, schema, "author", "%"), "COLUMN_NAME");
        check("getVersionColumns", m -> m.getVersionColumns(catalog, schema, "author"), "COLUMN_NAME", "at");
    }

    private void ofKeys(String catalog, String schema) {
        check("getPrimaryKeys", m -> m.getPrimaryKeys(catalog, schema, "book"), "COLUMN_NAME,KEY_SEQ,PK_NAME",
                "author_id,1,PRIMARY", "number,2,PRIMARY");
        check("getIndexInfo", m -> m.getIndexInfo(catalog, schema, "author", false, true),
                "NON_UNIQUE,INDEX_NAME,TYPE,ORDINAL_POSITION,COLUMN_NAME,ASC_OR_DESC",
                isShow
                        ? new String[] {"false,by_big,3,1,big,A", "false,PRIMARY,3,1,id,A", "true,by_name,3,1,name,A",
                            "true,by_name,3,2,born,D"}
                        : new String[] {"0,by_big,3,1,big,A", "0,PRIMARY,3,1,id,A", "1,by_name,3,1,name,A", "1,by_name,3,2,born,D"});
        check("getIndexInfo of unique keys", m -> m.getIndexInfo(catalog, schema, "author", true, false), "INDEX_NAME,CARDINALITY",
                "by_big,3", "PRIMARY,3");
        check("getBestRowIdentifier", m -> m.getBestRowIdentifier(catalog, schema, "author", DatabaseMetaData.bestRowSession, true),
                "COLUMN_NAME,DATA_TYPE,TYPE_NAME,COLUMN_SIZE", "id,4,int,10");
        check("getImportedKeys", m -> m.getImportedKeys(catalog, schema, "book"), "FKCOLUMN_NAME");
        check("getExportedKeys", m -> m.getExportedKeys(catalog, schema, "author"), "FKCOLUMN_NAME");
        check("getCrossReference", m -> m.getCrossReference(catalog, schema, "author", catalog, schema, "book"), "FKCOLUMN_NAME");
    }

    private void ofTheServer(boolean isCatalog) {
        String[] databases = {"information_schema", DATABASE, "mysql", "ndbinfo", "performance_schema", "sys"};
        check("getCatalogs", DatabaseMetaData::getCatalogs, "TABLE_CAT", isCatalog ? databases : new String[0]);
        check("getSchemas", DatabaseMetaData::getSchemas, "TABLE_SCHEM", isCatalog ? new String[0] : databases);
        check("getSchemas of a name", m -> m.getSchemas(null, "meta%"), "TABLE_SCHEM",
                isCatalog ? new String[0] : new String[] {DATABASE});
        check("getTableTypes", DatabaseMetaData::getTableTypes, "TABLE_TYPE",
                "LOCAL TEMPORARY", "SYSTEM TABLE", "SYSTEM VIEW", "TABLE", "VIEW");
        check("getClientInfoProperties", DatabaseMetaData::getClientInfoProperties, "NAME");
        try (ResultSet types = metadata.getTypeInfo()) {
            int count = 0;
            while (types.next()) {
                count++;
            }
            expect("getTypeInfo", List.of("true"), List.of(String.valueOf(count > 30)));
            expect("getDatabaseProductName", List.of("MySQL"), List.of(metadata.getDatabaseProductName()));
            expect("getDatabaseMajorVersion", List.of("8"), List.of(String.valueOf(metadata.getDatabaseMajorVersion())));
            expect("getSQLKeywords", List.of("true"), List.of(String.valueOf(metadata.getSQLKeywords().contains("STRAIGHT_JOIN"))));
            expect("getIdentifierQuoteString", List.of("`"), List.of(metadata.getIdentifierQuoteString()));
            expect("getUserName", List.of("true"), List.of(String.valueOf(metadata.getUserName().startsWith("root@"))));
        } catch (SQLException error) {
            fail("getTypeInfo and texts", error.toString());
        }
    }

    /** There are no procedures, privileges of single tables and the like here. */
    private void ofNothing(String catalog, String schema) {
        check("getProcedures", m -> m.getProcedures(catalog, schema, "%"), "PROCEDURE_NAME");
        check("getProcedureColumns", m -> m.getProcedureColumns(catalog, schema, "%", "%"), "COLUMN_NAME");
        check("getFunctions", m -> m.getFunctions(catalog, schema, "%"), "FUNCTION_NAME");
        check("getFunctionColumns", m -> m.getFunctionColumns(catalog, schema, "%", "%"), "COLUMN_NAME");
        check("getTablePrivileges", m -> m.getTablePrivileges(catalog, schema, "author"), "TABLE_NAME");
        check("getUDTs", m -> m.getUDTs(catalog, schema, "%", null), "TYPE_NAME");
        check("getSuperTables", m -> m.getSuperTables(catalog, schema, "%"), "TABLE_NAME");
        check("getSuperTypes", m -> m.getSuperTypes(catalog, schema, "%"), "TYPE_NAME");
        check("getAttributes", m -> m.getAttributes(catalog, schema, "%", "%"), "ATTR_NAME");
        check("getPseudoColumns", m -> m.getPseudoColumns(catalog, schema, "author", "%"), "COLUMN_NAME");
    }

    /** What a result says of its columns. */
    private void ofResults(Connection connection) {
        try (Statement statement = connection.createStatement();
                ResultSet rows = statement.executeQuery("SELECT a.id, a.name AS n, a.salary, COUNT(*) FROM author a GROUP BY a.id")) {
            List<String> found = new ArrayList<>();
            ResultSetMetaData columns = rows.getMetaData();
            for (int i = 1; i <= columns.getColumnCount(); i++) {
                found.add(columns.getColumnLabel(i) + "," + columns.getColumnName(i) + "," + columns.getTableName(i) + ","
                        + columns.getColumnTypeName(i) + "," + columns.getPrecision(i) + "," + columns.getScale(i) + ","
                        + columns.isNullable(i) + "," + columns.isAutoIncrement(i));
            }
            expect("ResultSetMetaData", List.of("id,id,author,INT,10,0,0,true", "n,name,author,VARCHAR,50,0,0,false",
                    "salary,salary,author,DECIMAL,10,2,1,false", "COUNT(*),COUNT(*),,BIGINT,19,0,0,false"), found);
        } catch (SQLException error) {
            fail("ResultSetMetaData", error.toString());
        }
    }

    private void check(String what, Call call, String columns, String... expected) {
        List<String> found = new ArrayList<>();
        try (ResultSet rows = call.on(metadata)) {
            while (rows.next()) {
                List<String> values = new ArrayList<>();
                for (String column : columns.split(",")) {
                    values.add(rows.getString(column));
                }
                found.add(String.join(",", values.stream().map(String::valueOf).toList()));
            }
            rows.getMetaData().getColumnCount();
            for (String column : columns.split(",")) {
                rows.findColumn(column);
            }
        } catch (SQLException error) {
            fail(what, error.toString());
            return;
        }
        expect(what, List.of(expected), found);
    }

    private void expect(String what, List<String> expected, List<String> found) {
        checked++;
        if (!expected.equals(found)) {
            fail(what, "\n  expected " + String.join("\n           ", expected) + "\n  found    " + String.join("\n           ", found));
        }
    }

    private void fail(String what, String why) {
        failures++;
        System.out.println("not ok " + name + ": " + what + ": " + why);
    }
}
