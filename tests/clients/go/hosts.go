package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"
)

const (
	hostsDatabase = "several_hosts_go"
	hostsRows     = 2_000
	killedAt      = 500
	failuresMax   = 20
	duplicateKey  = 1062
)

// severalHosts writes rows one by one through a pool that knows two hosts, and on the way kills the process that serves the first one.
// A statement that fails is tried again, as an application would, and a duplicate key then says that it had been done. All rows must be
// there in the end, once, and few statements may fail.
func severalHosts(addresses string, victim int) error {
	// What docs/operating/clients.md says: a connection is made with the first host that answers.
	mysql.RegisterDialContext("hosts", func(ctx context.Context, addresses string) (net.Conn, error) {
		dialer := net.Dialer{Timeout: 2 * time.Second}
		var failed error
		for _, address := range strings.Split(addresses, ",") {
			connection, err := dialer.DialContext(ctx, "tcp", address)
			if err == nil {
				return connection, nil
			}
			failed = errors.Join(failed, err)
		}
		return nil, failed
	})
	db, err := sql.Open("mysql", "root@hosts("+addresses+")/?readTimeout=10s")
	if err != nil {
		return err
	}
	defer db.Close()
	if err := run(db, "DROP DATABASE IF EXISTS "+hostsDatabase, "CREATE DATABASE "+hostsDatabase,
		"CREATE TABLE "+hostsDatabase+".t (id INT PRIMARY KEY, v INT NOT NULL)"); err != nil {
		return err
	}
	failures := 0
	for row := 0; row < hostsRows; row++ {
		if row == killedAt {
			process, err := os.FindProcess(victim)
			if err == nil {
				err = process.Kill()
			}
			if err != nil {
				return err
			}
		}
		for again := false; ; again = true {
			_, err := db.Exec("INSERT INTO "+hostsDatabase+".t VALUES (?, ?)", row, 2*row)
			if err == nil || again && failsWith(duplicateKey, err) == nil {
				break
			}
			fmt.Printf("row %d: %v\n", row, err)
			if failures++; failures > failuresMax {
				return err
			}
		}
	}
	found := [2]int64{}
	if err := db.QueryRow("SELECT COUNT(*), SUM(v) FROM "+hostsDatabase+".t").Scan(&found[0], &found[1]); err != nil {
		return err
	}
	fmt.Printf("%d rows, %d statements failed and were tried again\n", hostsRows, failures)
	return equal(found, [2]int64{hostsRows, hostsRows * (hostsRows - 1)}, "rows and their sum")
}
