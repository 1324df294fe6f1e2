// A go-sql-driver program against two SQL ports of one database: what is written on one is read on the other.
//
//	go run . --write-port 3306 --read-port 3307
//	go run . --first-port 3306 --second-port 3307 --victim PID
//
// With a victim it shows, instead, how a pool goes on at another host when the process behind the first one is killed.
// The two ports may be the same. It works in database go_client_test, which it drops at the beginning
// and leaves behind for whoever compares replicas. Each check prints a line;
// the exit code is 0 only if all passed. Where MySQL and MariaDB agree it holds for both, so it can be tried against MariaDB.
package main

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"flag"
	"fmt"
	"math/rand"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/go-sql-driver/mysql"
)

const database = "go_client_test"

var texts = []string{"", "plain", "naïve Ünïcödé", "日本語テキスト", "🧀🚀👩‍👩‍👧", "quote ' double \" back \\ slash", "line\nfeed\ttab\x00zero"}

// session is the two ports.
type session struct {
	writer, reader *sql.DB
}

func open(host string, port int, options func(*mysql.Config)) (*sql.DB, error) {
	config := mysql.NewConfig()
	config.User = "root"
	config.Net = "tcp"
	config.Addr = fmt.Sprintf("%s:%d", host, port)
	config.ParseTime = true
	config.Collation = "utf8mb4_general_ci"
	config.Timeout = 10 * time.Second
	config.ReadTimeout = 120 * time.Second
	if options != nil {
		options(config)
	}
	connector, err := mysql.NewConnector(config)
	if err != nil {
		return nil, err
	}
	return sql.OpenDB(connector), nil
}

// run executes statements without parameters.
func run(db *sql.DB, statements ...string) error {
	for _, statement := range statements {
		if _, err := db.Exec(statement); err != nil {
			return fmt.Errorf("%s: %w", statement, err)
		}
	}
	return nil
}

// failsWith says what is wrong unless err is MySQL's error of this number.
func failsWith(number uint16, err error) error {
	var server *mysql.MySQLError
	if errors.As(err, &server) && server.Number == number {
		return nil
	}
	return fmt.Errorf("expected error %d, found %v", number, err)
}

func equal[T comparable](found, expected T, what string) error {
	if found != expected {
		return fmt.Errorf("%s: expected %v, found %v", what, expected, found)
	}
	return nil
}

func count(db *sql.DB, query string, arguments ...any) (int64, error) {
	var number int64
	err := db.QueryRow(query, arguments...).Scan(&number)
	return number, err
}

// integers are written as parameters of prepared statements and read in the binary form.
func integers(s *session) error {
	types := []struct {
		name            string
		lowest, highest int64
	}{
		{"TINYINT", -128, 127}, {"SMALLINT", -32768, 32767}, {"MEDIUMINT", -8388608, 8388607},
		{"INT", -2147483648, 2147483647}, {"BIGINT", -9223372036854775808, 9223372036854775807},
		{"TINYINT UNSIGNED", 0, 255}, {"INT UNSIGNED", 0, 4294967295}, {"YEAR", 1901, 2155},
	}
	for index, t := range types {
		table := fmt.Sprintf("integer_%d", index)
		if err := run(s.writer, fmt.Sprintf("CREATE TABLE %s (id INT PRIMARY KEY, v %s)", table, t.name)); err != nil {
			return err
		}
		if _, err := s.writer.Exec("INSERT INTO "+table+" VALUES (?, ?), (?, ?), (?, ?)", 1, t.lowest, 2, t.highest, 3, nil); err != nil {
			return err
		}
		var low, high int64
		var null sql.NullInt64
		err := errors.Join(
			s.reader.QueryRow("SELECT v FROM "+table+" WHERE id = ?", 1).Scan(&low),
			s.reader.QueryRow("SELECT v FROM "+table+" WHERE id = ?", 2).Scan(&high),
			s.reader.QueryRow("SELECT v FROM "+table+" WHERE id = ?", 3).Scan(&null),
		)
		if err != nil {
			return fmt.Errorf("%s: %w", t.name, err)
		}
		if low != t.lowest || high != t.highest || null.Valid {
			return fmt.Errorf("%s: found %d, %d, %v", t.name, low, high, null)
		}
	}
	if err := run(s.writer, "CREATE TABLE unsigned_big (id INT PRIMARY KEY, v BIGINT UNSIGNED)"); err != nil {
		return err
	}
	const largest = uint64(18446744073709551615)
	if _, err := s.writer.Exec("INSERT INTO unsigned_big VALUES (?, ?)", 1, largest); err != nil {
		return err
	}
	var found uint64
	if err := s.reader.QueryRow("SELECT v FROM unsigned_big WHERE v = ?", largest).Scan(&found); err != nil {
		return err
	}
	return equal(found, largest, "BIGINT UNSIGNED")
}

// otherTypes are all that are no integers, in one row, and a row of NULLs.
func otherTypes(s *session) error {
	err := run(s.writer, `CREATE TABLE other_types (id BIGINT AUTO_INCREMENT PRIMARY KEY,
		dec_ DECIMAL(20,5), double_ DOUBLE, float_ FLOAT, bit_ BIT(17), char_ CHAR(20), varchar_ VARCHAR(200), binary_ BINARY(4),
		varbinary_ VARBINARY(300), text_ TEXT, blob_ BLOB, enum_ ENUM('small','large'), set_ SET('a','b','c'), date_ DATE,
		time_ TIME(6), datetime_ DATETIME(6), timestamp_ TIMESTAMP(3) NULL, tinytext_ TINYTEXT, mediumblob_ MEDIUMBLOB,
		longtext_ LONGTEXT)`)
	if err != nil {
		return err
	}
	allBytes := make([]byte, 256)
	for index := range allBytes {
		allBytes[index] = byte(index)
	}
	moment := time.Date(2024, 2, 29, 23, 59, 59, 999_999_000, time.UTC)
	day := time.Date(1990, 5, 17, 0, 0, 0, 0, time.UTC)
	stamp := time.Date(2030, 1, 2, 3, 4, 5, 678_000_000, time.UTC)
	large := bytes.Repeat(allBytes, 1000)
	marks := strings.TrimSuffix(strings.Repeat("?, ", 19), ", ")
	columns := `dec_, double_, float_, bit_, char_, varchar_, binary_, varbinary_, text_, blob_, enum_, set_, date_, time_, datetime_,
		timestamp_, tinytext_, mediumblob_, longtext_`
	insert := "INSERT INTO other_types (" + columns + ") VALUES (" + marks + ")"
	result, err := s.writer.Exec(insert, "-123456789012345.12345", 3.141592653589793, float32(0.25), []byte{1, 255, 255},
		"käse 🧀", texts[3], []byte{0, 1, 254, 255}, allBytes, texts[4], allBytes, "large", "a,c", day, "-12:34:56.789012", moment,
		stamp, texts[5], large, texts[6])
	if err != nil {
		return err
	}
	id, err := result.LastInsertId()
	if err != nil {
		return err
	}
	var (
		dec, char, varchar, text, enum, set, duration, tinytext, longtext string
		double                                                            float64
		float                                                             float32
		bit, binary, varbinary, blob, mediumblob                          []byte
		date, datetime, timestamp                                         time.Time
	)
	err = s.reader.QueryRow("SELECT "+columns+" FROM other_types WHERE id = ?", id).Scan(&dec, &double, &float, &bit, &char, &varchar,
		&binary, &varbinary, &text, &blob, &enum, &set, &date, &duration, &datetime, &timestamp, &tinytext, &mediumblob, &longtext)
	if err != nil {
		return err
	}
	err = errors.Join(
		equal(dec, "-123456789012345.12345", "DECIMAL"), equal(double, 3.141592653589793, "DOUBLE"), equal(float, 0.25, "FLOAT"),
		equal(string(bit), "\x01\xff\xff", "BIT"), equal(char, "käse 🧀", "CHAR"), equal(varchar, texts[3], "VARCHAR"),
		equal(string(binary), "\x00\x01\xfe\xff", "BINARY"), equal(string(varbinary), string(allBytes), "VARBINARY"),
		equal(text, texts[4], "TEXT"), equal(string(blob), string(allBytes), "BLOB"), equal(enum, "large", "ENUM"),
		equal(set, "a,c", "SET"), equal(date.Equal(day), true, "DATE"), equal(duration, "-12:34:56.789012", "TIME"),
		equal(datetime.Equal(moment), true, "DATETIME"), equal(timestamp.Equal(stamp), true, "TIMESTAMP"),
		equal(tinytext, texts[5], "TINYTEXT"), equal(bytes.Equal(mediumblob, large), true, "MEDIUMBLOB"),
		equal(longtext, texts[6], "LONGTEXT"),
	)
	if err != nil {
		return err
	}
	return nulls(s, insert, columns)
}

// nulls writes and reads a row in which every column is NULL.
func nulls(s *session, insert, columns string) error {
	none := make([]any, 19)
	result, err := s.writer.Exec(insert, none...)
	if err != nil {
		return err
	}
	id, err := result.LastInsertId()
	if err != nil {
		return err
	}
	found := make([]sql.RawBytes, 19)
	places := make([]any, 19)
	for index := range found {
		places[index] = &found[index]
	}
	rows, err := s.reader.Query("SELECT "+columns+" FROM other_types WHERE id = ?", id)
	if err != nil {
		return err
	}
	defer rows.Close()
	if !rows.Next() {
		return errors.New("the row of NULLs is not there")
	}
	if err := rows.Scan(places...); err != nil {
		return err
	}
	for index, value := range found {
		if value != nil {
			return fmt.Errorf("column %d of the row of NULLs is %q", index, value)
		}
	}
	return rows.Err()
}

// unicode reads every text back by its key and finds it by its value.
func unicode(s *session) error {
	if err := run(s.writer, "CREATE TABLE unicode (id INT PRIMARY KEY, t VARCHAR(200) COLLATE utf8mb4_bin, KEY (t))"); err != nil {
		return err
	}
	for id, text := range texts {
		if _, err := s.writer.Exec("INSERT INTO unicode VALUES (?, ?)", id, text); err != nil {
			return err
		}
		var found string
		if err := s.reader.QueryRow("SELECT t FROM unicode WHERE id = ?", id).Scan(&found); err != nil {
			return err
		}
		if err := equal(found, text, "text"); err != nil {
			return err
		}
		var foundID int
		if err := s.reader.QueryRow("SELECT id FROM unicode WHERE t = ?", text).Scan(&foundID); err != nil {
			return fmt.Errorf("%q: %w", text, err)
		}
		if err := equal(foundID, id, "id"); err != nil {
			return err
		}
	}
	return nil
}

// largeValues are 20 MiB: more than one packet of the protocol holds.
func largeValues(s *session) error {
	if err := run(s.writer, "CREATE TABLE large (id INT PRIMARY KEY, b LONGBLOB)"); err != nil {
		return err
	}
	content := make([]byte, 20<<20)
	random := rand.New(rand.NewSource(20))
	for index := range content {
		content[index] = byte(random.Intn(256))
	}
	if _, err := s.writer.Exec("INSERT INTO large VALUES (?, ?)", 1, content); err != nil {
		return err
	}
	var found []byte
	if err := s.reader.QueryRow("SELECT b FROM large WHERE id = ?", 1).Scan(&found); err != nil {
		return err
	}
	if !bytes.Equal(found, content) {
		return errors.New("20 MiB do not read back equal")
	}
	return nil
}

// preparedStatements are executed many times, on several connections at once.
func preparedStatements(s *session) error {
	if err := run(s.writer, "CREATE TABLE prepared (id INT PRIMARY KEY, v INT NOT NULL)"); err != nil {
		return err
	}
	insert, err := s.writer.Prepare("INSERT INTO prepared VALUES (?, ?)")
	if err != nil {
		return err
	}
	defer insert.Close()
	const workers, each = 8, 50
	failures := make(chan error, workers)
	var group sync.WaitGroup
	for worker := range workers {
		group.Add(1)
		go func() {
			defer group.Done()
			for index := range each {
				id := worker*each + index
				if _, err := insert.Exec(id, id*id); err != nil {
					failures <- err
					return
				}
			}
		}()
	}
	group.Wait()
	close(failures)
	for err := range failures {
		return err
	}
	if err := failsWith(1062, second(insert.Exec(0, 0))); err != nil {
		return err
	}
	read, err := s.reader.Prepare("SELECT v FROM prepared WHERE id BETWEEN ? AND ? ORDER BY id")
	if err != nil {
		return err
	}
	defer read.Close()
	rows, err := read.Query(100, 199)
	if err != nil {
		return err
	}
	defer rows.Close()
	next := 100
	for ; rows.Next(); next++ {
		var v int
		if err := rows.Scan(&v); err != nil {
			return err
		}
		if err := equal(v, next*next, "value"); err != nil {
			return err
		}
	}
	return errors.Join(rows.Err(), equal(next, 200, "rows"))
}

// second is the error of a call with two results.
func second[T any](_ T, err error) error { return err }

// transactions commit, roll back, and are undone when the context ends.
func transactions(s *session) error {
	if err := run(s.writer, "CREATE TABLE account (id INT PRIMARY KEY, balance INT NOT NULL)",
		"INSERT INTO account VALUES (1, 100), (2, 0)"); err != nil {
		return err
	}
	move := func(end func(*sql.Tx) error) error {
		transaction, err := s.writer.BeginTx(context.Background(), nil)
		if err != nil {
			return err
		}
		_, first := transaction.Exec("UPDATE account SET balance = balance - ? WHERE id = ?", 30, 1)
		_, other := transaction.Exec("UPDATE account SET balance = balance + ? WHERE id = ?", 30, 2)
		return errors.Join(first, other, end(transaction))
	}
	if err := move((*sql.Tx).Rollback); err != nil {
		return err
	}
	balance, err := count(s.reader, "SELECT balance FROM account WHERE id = ?", 1)
	if err = errors.Join(err, equal(balance, 100, "after rollback")); err != nil {
		return err
	}
	if err := move((*sql.Tx).Commit); err != nil {
		return err
	}
	balance, err = count(s.reader, "SELECT balance FROM account WHERE id = ?", 2)
	if err = errors.Join(err, equal(balance, 30, "after commit")); err != nil {
		return err
	}
	total, err := count(s.reader, "SELECT SUM(balance) FROM account")
	return errors.Join(err, equal(total, 100, "sum"))
}

// deadlock: two transactions wait for each other; one of them is told so, soon.
func deadlock(s *session) error {
	if err := run(s.writer, "CREATE TABLE cycle (id INT PRIMARY KEY, v INT)", "INSERT INTO cycle VALUES (1, 0), (2, 0)"); err != nil {
		return err
	}
	first, err := s.writer.Begin()
	if err != nil {
		return err
	}
	defer first.Rollback()
	other, err := s.writer.Begin()
	if err != nil {
		return err
	}
	defer other.Rollback()
	err = errors.Join(second(first.Exec("UPDATE cycle SET v = 1 WHERE id = 1")), second(other.Exec("UPDATE cycle SET v = 2 WHERE id = 2")))
	if err != nil {
		return err
	}
	outcome := make(chan error, 1)
	go func() { outcome <- second(first.Exec("UPDATE cycle SET v = 1 WHERE id = 2")) }()
	otherOutcome := second(other.Exec("UPDATE cycle SET v = 2 WHERE id = 1"))
	if otherOutcome != nil {
		// It was the victim; the first goes on.
		return errors.Join(failsWith(1213, otherOutcome), <-outcome, first.Commit())
	}
	return errors.Join(failsWith(1213, <-outcome), other.Commit())
}

// errorsByNumber are what programs branch on; nothing is changed by them.
func errorsByNumber(s *session) error {
	if err := run(s.writer, "CREATE TABLE strict (id INT PRIMARY KEY, small TINYINT NOT NULL, name VARCHAR(3))",
		"INSERT INTO strict VALUES (1, 1, 'abc')"); err != nil {
		return err
	}
	insert := "INSERT INTO strict VALUES (?, ?, ?)"
	err := errors.Join(
		failsWith(1062, second(s.writer.Exec(insert, 1, 1, "x"))), failsWith(1048, second(s.writer.Exec(insert, 2, nil, "x"))),
		failsWith(1264, second(s.writer.Exec(insert, 2, 128, "x"))), failsWith(1406, second(s.writer.Exec(insert, 2, 1, "abcd"))),
		failsWith(1146, second(s.writer.Exec("SELECT * FROM nothing WHERE id = ?", 1))),
		failsWith(1054, second(s.writer.Exec("SELECT nothing FROM strict WHERE id = ?", 1))),
		failsWith(1064, second(s.writer.Exec("SELEKT 1"))), failsWith(1064, second(s.writer.Prepare("SELEKT ?"))),
	)
	if err != nil {
		return err
	}
	rows, err := count(s.reader, "SELECT COUNT(*) FROM strict WHERE small = 1 AND name = 'abc'")
	return errors.Join(err, equal(rows, 1, "rows"))
}

// interpolated sends parameters inside of the text, as many programs configure it.
func interpolated(host string, port int) func(*session) error {
	return func(s *session) error {
		db, err := open(host, port, func(config *mysql.Config) {
			config.DBName = database
			config.InterpolateParams = true
			config.MultiStatements = true
		})
		if err != nil {
			return err
		}
		defer db.Close()
		if err := run(db, "CREATE TABLE text_form (id INT PRIMARY KEY, t VARCHAR(200)); INSERT INTO text_form VALUES (-1, 'two at once')"); err != nil {
			return err
		}
		for id, text := range texts {
			if _, err := db.Exec("INSERT INTO text_form VALUES (?, ?)", id, text); err != nil {
				return err
			}
			var found string
			if err := s.reader.QueryRow("SELECT t FROM text_form WHERE id = ?", id).Scan(&found); err != nil {
				return err
			}
			if err := equal(found, text, "text"); err != nil {
				return err
			}
		}
		return nil
	}
}

func main() {
	host := flag.String("host", "127.0.0.1", "where the database is")
	writePort := flag.Int("write-port", 3306, "SQL port to write on")
	readPort := flag.Int("read-port", 3307, "SQL port to read on")
	firstPort := flag.Int("first-port", 3306, "SQL port of the process that will be killed")
	secondPort := flag.Int("second-port", 3307, "SQL port of another node")
	victim := flag.Int("victim", 0, "if given, only the check with several hosts runs, and kills this process")
	flag.Parse()
	passed, failed := 0, 0
	check := func(name string, err error) {
		if err != nil {
			failed++
			fmt.Printf("FAILED %s: %v\n", name, err)
			return
		}
		passed++
		fmt.Printf("ok %s\n", name)
	}
	if *victim != 0 {
		addresses := fmt.Sprintf("%s:%d,%s:%d", *host, *firstPort, *host, *secondPort)
		check("several hosts", severalHosts(addresses, *victim))
		finish(passed, failed)
	}
	s, err := start(*host, *writePort, *readPort)
	check("connect", err)
	if err == nil {
		check("integers", integers(s))
		check("other types", otherTypes(s))
		check("unicode", unicode(s))
		check("large values", largeValues(s))
		check("prepared statements", preparedStatements(s))
		check("transactions", transactions(s))
		check("deadlock", deadlock(s))
		check("errors by number", errorsByNumber(s))
		check("interpolated parameters", interpolated(*host, *writePort)(s))
	}
	finish(passed, failed)
}

func finish(passed, failed int) {
	fmt.Printf("%d passed, %d failed\n", passed, failed)
	if failed > 0 {
		os.Exit(1)
	}
	os.Exit(0)
}

// start makes the database and connects to both ports.
func start(host string, writePort, readPort int) (*session, error) {
	homeless, err := open(host, writePort, nil)
	if err != nil {
		return nil, err
	}
	defer homeless.Close()
	if err := run(homeless, "DROP DATABASE IF EXISTS "+database, "CREATE DATABASE "+database+" CHARACTER SET utf8mb4"); err != nil {
		return nil, err
	}
	here := func(config *mysql.Config) { config.DBName = database }
	writer, err := open(host, writePort, here)
	if err != nil {
		return nil, err
	}
	reader, err := open(host, readPort, here)
	if err != nil {
		return nil, err
	}
	return &session{writer, reader}, errors.Join(writer.Ping(), reader.Ping())
}
