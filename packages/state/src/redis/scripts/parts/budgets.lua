-- Monthly budgets. A key names its budgets in `bud`, and a name without a budget limits nothing. A budget is a hash:
-- `limit`, `ver`, and for each month `spent`, which is the ledger's and only rises, and `open`. `open` is the sum of
-- the holds and notes that count in the budget: each has an entry in COUNTED, `month amount budgets`. A budget without
-- a limit was removed, or has not come yet. It expires. The month is UTC, `YYYY-MM`, from days since 1970 by Howard
-- Hinnant's `civil_from_days`.
--
-- `find_exhausted` returns the scope and the limit of the first budget that does not cover an amount. Brokers see the
-- scope. The name would link requests. If all cover it, the third value is the names that have a budget.
-- include names

local function budget_key(id) return P .. 'budget:' .. id end
local function month_of(ms)
  local days = math.floor(ms / 86400000) + 719468
  local era = math.floor(days / 146097)
  local doe = days - era * 146097
  local yoe = math.floor((doe - math.floor(doe / 1460) + math.floor(doe / 36524) - math.floor(doe / 146096)) / 365)
  local mp = math.floor((5 * (doe - 365 * yoe - math.floor(yoe / 4) + math.floor(yoe / 100)) + 2) / 153)
  local month = mp < 10 and mp + 3 or mp - 9
  return string.format('%04d-%02d', yoe + era * 400 + (month < 3 and 1 or 0), month)
end
local function add_open(month, amount, ids)
  if amount == '0' or amount == '-0' then return end
  for id in string.gmatch(ids, '%S+') do
    if redis.call('HEXISTS', budget_key(id), 'limit') == 1 then redis.call('HINCRBY', budget_key(id), 'open ' .. month, amount) end
  end
end
local function count_in(what, month, amount, ids, present)
  if not ids or ids == '' then return end
  redis.call('HSET', COUNTED, what, month .. ' ' .. amount .. ' ' .. ids)
  if not present then return add_open(month, amount, ids) end
  for id in string.gmatch(present, '%S+') do redis.call('HINCRBY', budget_key(id), 'open ' .. month, amount) end
end
local function uncount(what)
  local text = redis.call('HGET', COUNTED, what)
  if not text then return nil end
  local month, amount, ids = string.match(text, '^(%S+) (%S+) (.+)$')
  redis.call('HDEL', COUNTED, what)
  add_open(month, '-' .. amount, ids)
  return month, ids
end
local function find_exhausted(ids, month, amount)
  local present = ''
  for id in string.gmatch(ids or '', '%S+') do
    local b = redis.call('HMGET', budget_key(id), 'limit', 'spent ' .. month, 'open ' .. month)
    if b[1] then
      if tonumber(b[1]) - tonumber(b[2] or 0) - tonumber(b[3] or 0) < amount then return string.match(id, '^%a+'), b[1] end
      present = present .. ' ' .. id
    end
  end
  return nil, nil, present
end
local function set_spent(id, month, spent)
  local b = redis.call('HMGET', budget_key(id), 'spent ' .. month, 'limit')
  if tonumber(b[1] or 0) < tonumber(spent) then
    redis.call('HSET', budget_key(id), 'spent ' .. month, spent)
    if not b[2] then redis.call('PEXPIRE', budget_key(id), LATE_MS) end
  end
end
