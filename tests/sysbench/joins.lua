-- Joins of a table of parents and one of their children, ten of each parent (`joined`, made by `cargo xtask bench`).
--
-- `--join` says which: `key` is a child with its parent, `index` are ten parents with their hundred children, `plan2`
-- and `plan10` are EXPLAIN of a join of so many tables, as text that no cache of plans knows.

require("oltp_common")

sysbench.cmdline.options.join = {"key, index, plan2 or plan10", "key"}
sysbench.cmdline.options.parents = {"Rows of the table of parents", 10000}

local CHILDREN = 10
local statement, first, last

local function prepared(text, count)
   statement = connection:prepare(text)
   local bound = {}
   for parameter = 1, count do
      bound[parameter] = statement:bind_create(sysbench.sql.type.INT)
   end
   statement:bind_param(unpack(bound))
   return unpack(bound)
end

-- A chain of tables, each joined with the one before by a key or by an index.
local function chain(count)
   local text = "EXPLAIN SELECT COUNT(*) FROM joined.parent t1"
   for number = 2, count do
      if number % 2 == 0 then
         text = text .. string.format(" JOIN joined.child t%d ON t%d.parent = t%d.id", number, number, number - 1)
      else
         text = text .. string.format(" JOIN joined.parent t%d ON t%d.id = t%d.parent", number, number, number - 1)
      end
   end
   return text .. " WHERE t1.id = %d"
end

local events = {}

function events.key()
   first:set(sysbench.rand.uniform(1, sysbench.opt.parents * CHILDREN))
   statement:execute()
end

function events.index()
   local parent = sysbench.rand.uniform(1, sysbench.opt.parents - CHILDREN)
   first:set(parent)
   last:set(parent + CHILDREN - 1)
   statement:execute()
end

local text

function events.plan()
   connection:query(string.format(text, sysbench.rand.uniform(1, sysbench.opt.parents)))
end

-- The one of this run. oltp_common wants `event` to be there when the script is read.
local chosen

function event()
   chosen()
end

function thread_init()
   connection = sysbench.sql.driver():connect()
   local join = sysbench.opt.join
   if join == "key" then
      first = prepared("SELECT c.note, p.name FROM joined.child c JOIN joined.parent p ON p.id = c.parent WHERE c.id = ?", 1)
   elseif join == "index" then
      first, last = prepared("SELECT p.name, c.note FROM joined.parent p JOIN joined.child c ON c.parent = p.id WHERE p.id BETWEEN ? AND ?", 2)
   else
      text = chain(tonumber(join:match("%d+")))
      join = "plan"
   end
   chosen = events[join]
end

function thread_done()
   if statement then
      statement:close()
   end
   connection:disconnect()
end
