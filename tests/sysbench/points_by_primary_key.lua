-- Random rows by primary key: one SELECT with an IN list of `--random-points` keys, as a feature store asks.
--
-- Tables are those of sysbench's oltp scripts (prepare and cleanup are theirs); every event reads from one of them.

require("oltp_common")

sysbench.cmdline.options.random_points = {"Number of keys in the IN list of each SELECT", 100}

local statements = {}
local parameters = {}

function thread_init()
   connection = sysbench.sql.driver():connect()
   local marks = string.rep("?, ", sysbench.opt.random_points - 1) .. "?"
   for table_index = 1, sysbench.opt.tables do
      local text = "SELECT id, k, c, pad FROM sbtest%u WHERE id IN (%s)"
      local statement = connection:prepare(string.format(text, table_index, marks))
      local bound = {}
      for point = 1, sysbench.opt.random_points do
         bound[point] = statement:bind_create(sysbench.sql.type.INT)
      end
      statement:bind_param(unpack(bound))
      statements[table_index] = statement
      parameters[table_index] = bound
   end
end

function event()
   local table_index = sysbench.rand.uniform(1, sysbench.opt.tables)
   local bound = parameters[table_index]
   for point = 1, sysbench.opt.random_points do
      bound[point]:set(sysbench.rand.uniform(1, sysbench.opt.table_size))
   end
   statements[table_index]:execute()
end

function thread_done()
   for _, statement in ipairs(statements) do
      statement:close()
   end
   connection:disconnect()
end
