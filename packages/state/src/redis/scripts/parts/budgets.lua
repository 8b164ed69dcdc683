-- Monthly budgets. A key names its budgets in `bud`, and a name without a budget limits nothing. LIMITS has the limit of
-- each budget. A budget's hash has `ver`, `gone` once it was removed, and for each month `spent`, which is the ledger's
-- and only rises, and `open`, the sum of the holds and notes that count in the budget. Each of them has its month and
-- the names in its text. Without a limit the hash expires. The month is UTC, `YYYY-MM`, from days since 1970 by Howard
-- Hinnant's `civil_from_days`.
--
-- `find_exhausted` returns the scope and the limit of the first budget that does not cover an amount, and what is left
-- of it. Brokers see the scope. The name would link requests. If all cover it, the third value is the names that have a
-- limit. A shard without any limit is asked once in a call.
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
local function split(names)
  local ids = {}
  for id in string.gmatch(names or '', '%S+') do ids[#ids + 1] = id end
  return ids
end
local has_limits = {}
local function is_unlimited()
  if has_limits[LIMITS] == nil then has_limits[LIMITS] = redis.call('EXISTS', LIMITS) == 1 end
  return not has_limits[LIMITS]
end
local function add_open(month, amount, names)
  if tonumber(amount) == 0 or is_unlimited() then return end
  local ids = split(names)
  if #ids == 0 then return end
  local limits = try('HMGET', LIMITS, unpack(ids))
  for i, id in ipairs(ids) do
    if limits[i] then try('HINCRBY', budget_key(id), 'open ' .. month, amount) end
  end
end
local function find_exhausted(names, month, amount)
  if is_unlimited() then return nil, nil, '' end
  local ids, limited = split(names), ''
  local limits = #ids > 0 and redis.call('HMGET', LIMITS, unpack(ids))
  for i, id in ipairs(ids) do
    if limits[i] then
      local b = redis.call('HMGET', budget_key(id), 'spent ' .. month, 'open ' .. month)
      local left = tonumber(limits[i]) - tonumber(b[1] or 0) - tonumber(b[2] or 0)
      if left < amount then return string.match(id, '^%a+'), limits[i], left end
      limited = limited .. ' ' .. id
    end
  end
  return nil, nil, limited
end
local function set_spent(id, month, spent)
  local bk = budget_key(id)
  if tonumber(redis.call('HGET', bk, 'spent ' .. month) or 0) >= tonumber(spent) then return end
  redis.call('HSET', bk, 'spent ' .. month, spent)
  if redis.call('HEXISTS', LIMITS, id) == 0 then redis.call('PEXPIRE', bk, LATE_MS) end
end
-- Calls `count(month, amount, names)` for each hold and note that counts in budgets.
local function each_counted(count)
  for _, text in ipairs(redis.call('HVALS', HOLDS)) do
    local amount, month, names = string.match(text, '^%S+ (%S+) %S+ %S+ %S+ %S+ %S+ (%S+) (.+)$')
    if amount then count(month, amount, names) end
  end
  for _, text in ipairs(redis.call('HVALS', NOTES)) do
    local amount, month, names = string.match(text, '^%S+ %S+ (%S+) (%S+) (.+)$')
    if amount then count(month, amount, names) end
  end
end
