// Connector/J with several hosts in its URL: the host that it is connected with dies, and the program goes on at the next one.
//
//     java -cp mysql-connector-j.jar SeveralHosts.java --host 127.0.0.1 --first-port 3306 --second-port 3307 --victim PID
//
// It writes rows one by one, as an application would that knows nothing of nodes: a statement that fails is tried again, and a duplicate
// key then says that it had been done. On the way it kills the process that serves its first port. It ends well if all rows
// are there, once, and few statements failed.

import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.HashMap;
import java.util.Map;

public class SeveralHosts {
    private static final String DATABASE = "several_hosts_java";
    private static final int ROWS = 2_000;
    private static final int KILLED_AT = 500;
    private static final int FAILURES_MAX = 20;
    private static final int DUPLICATE_KEY = 1062;

    private final String url;
    private Connection connection;
    private int failures;

    private SeveralHosts(String url) {
        this.url = url;
    }

    public static void main(String[] arguments) throws Exception {
        Map<String, String> options = new HashMap<>();
        for (int i = 0; i + 1 < arguments.length; i += 2) {
            options.put(arguments[i], arguments[i + 1]);
        }
        String host = options.getOrDefault("--host", "127.0.0.1");
        String hosts = host + ":" + options.get("--first-port") + "," + host + ":" + options.get("--second-port");
        // What docs/operating/clients.md says.
        SeveralHosts program = new SeveralHosts("jdbc:mysql://" + hosts
                + "/?user=root&password=&sslMode=PREFERRED&failOverReadOnly=false&connectTimeout=2000&socketTimeout=10000");
        program.prepare();
        long victim = Long.parseLong(options.get("--victim"));
        for (int row = 0; row < ROWS; row++) {
            if (row == KILLED_AT) {
                ProcessHandle.of(victim).orElseThrow().destroyForcibly();
            }
            program.write(row);
        }
        program.check();
    }

    private Connection connection() throws SQLException {
        if (connection == null || connection.isClosed()) {
            connection = DriverManager.getConnection(url);
        }
        return connection;
    }

    private void prepare() throws SQLException {
        try (Statement statement = connection().createStatement()) {
            statement.execute("DROP DATABASE IF EXISTS " + DATABASE);
            statement.execute("CREATE DATABASE " + DATABASE);
            statement.execute("CREATE TABLE " + DATABASE + ".t (id INT PRIMARY KEY, v INT NOT NULL)");
        }
    }

    private void write(int row) throws SQLException {
        for (boolean again = false; ; again = true) {
            try (PreparedStatement insert = connection().prepareStatement("INSERT INTO " + DATABASE + ".t VALUES (?, ?)")) {
                insert.setInt(1, row);
                insert.setInt(2, 2 * row);
                insert.executeUpdate();
                return;
            } catch (SQLException error) {
                if (again && error.getErrorCode() == DUPLICATE_KEY) {
                    return;
                }
                failures++;
                System.out.println("row " + row + ": " + error.getErrorCode() + " " + error.getSQLState() + " "
                        + error.getMessage().lines().findFirst().orElse(""));
                if (failures > FAILURES_MAX) {
                    throw error;
                }
            }
        }
    }

    private void check() throws SQLException {
        try (Statement statement = connection().createStatement();
                ResultSet found = statement.executeQuery("SELECT COUNT(*), SUM(v) FROM " + DATABASE + ".t")) {
            found.next();
            long sum = (long) ROWS * (ROWS - 1);
            if (found.getLong(1) != ROWS || found.getLong(2) != sum) {
                throw new AssertionError(found.getLong(1) + " rows with sum " + found.getLong(2) + ", not " + ROWS + " with " + sum);
            }
        }
        System.out.println("ok " + ROWS + " rows, " + failures + " statements failed and were tried again");
    }
}
