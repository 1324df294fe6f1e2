-- Queries that look at all rows of one of sysbench's tables.
--
-- `--scan` says which: `count`, `sum`, `number` and `text` (conditions on an integer, and on a string too), `groups` (ten
-- of them), `values` (a group for each k), `distinct` (how many of these there are), `top` (ten rows by an order that no
-- index has).

require("oltp_common")

sysbench.cmdline.options.scan = {"count, sum, number, text, groups, values, distinct or top", "count"}

local queries = {
   count = "SELECT COUNT(*) FROM sbtest%u WHERE k >= 0",
   sum = "SELECT SUM(k), MIN(k), MAX(k) FROM sbtest%u",
   number = "SELECT COUNT(*) FROM sbtest%u WHERE k %% 7 = 3",
   text = "SELECT COUNT(*) FROM sbtest%u WHERE k > 1000 AND pad LIKE '1%%'",
   groups = "SELECT k %% 10, COUNT(*), SUM(k) FROM sbtest%u GROUP BY k %% 10",
   values = "SELECT k, COUNT(*) AS found FROM sbtest%u GROUP BY k ORDER BY found DESC, k LIMIT 5",
   distinct = "SELECT COUNT(DISTINCT k) FROM sbtest%u",
   top = "SELECT id, c FROM sbtest%u ORDER BY c LIMIT 10"
}

local statements = {}

function thread_init()
   connection = sysbench.sql.driver():connect()
   for table_index = 1, sysbench.opt.tables do
      statements[table_index] = connection:prepare(string.format(queries[sysbench.opt.scan], table_index))
   end
end

function event()
   statements[sysbench.rand.uniform(1, sysbench.opt.tables)]:execute()
end

function thread_done()
   for _, statement in ipairs(statements) do
      statement:close()
   end
   connection:disconnect()
end
