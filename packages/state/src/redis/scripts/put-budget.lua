-- A newer limit counts everything again that is held and unbooked, so that requests of before the budget count too. So
-- does the same limit if Redis has lost it, or the budget's sums. Months before `keptSince` are forgotten.
-- args budgetId limit version keptSince, then per month: month spent
-- include guard budgets

local n, refused = guard('project')
if refused then return refused end
local id, version, bk = ARGV[5], tonumber(ARGV[7]), budget_key(ARGV[5])
local b = redis.call('HMGET', bk, 'ver', 'gone')
local known = tonumber(b[1] or -1)
local is_lost = known == version and not b[2] and redis.call('HEXISTS', LIMITS, id) == 0
if known < version or is_lost then
  local open = {}
  each_counted(function(month, amount, names)
    if string.find(' ' .. names .. ' ', ' ' .. id .. ' ', 1, true) then open[month] = (open[month] or 0) + tonumber(amount) end
  end)
  redis.call('HSET', LIMITS, id, ARGV[6])
  redis.call('HDEL', bk, 'gone')
  for _, field in ipairs(redis.call('HKEYS', bk)) do
    if string.sub(field, 1, 5) == 'open ' then redis.call('HDEL', bk, field) end
  end
  for month, sum in pairs(open) do redis.call('HSET', bk, 'open ' .. month, int(sum)) end
  redis.call('HSET', bk, 'ver', ARGV[7])
  redis.call('PERSIST', bk)
end
for i = 9, #ARGV, 2 do set_spent(id, ARGV[i], ARGV[i + 1]) end
local fields = redis.call('HGETALL', bk)
for i = 1, #fields, 2 do
  local kind, month = string.match(fields[i], '^(%a+) (.+)$')
  if month and month < ARGV[8] and (kind == 'spent' or fields[i + 1] == '0') then redis.call('HDEL', bk, fields[i]) end
end
return {count()}
