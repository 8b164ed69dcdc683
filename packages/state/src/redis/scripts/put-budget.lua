-- A newer limit counts everything again that is held and unbooked, so that requests of before the budget count too.
-- Months before `keptSince` are forgotten. Entries of holds and notes that are gone are removed: a script that failed at a
-- damaged record may have ended one without its entry.
-- args budgetId limit version keptSince, then per month: month spent
-- include guard budgets

local n, refused = guard('project')
if refused then return refused end
local bk = budget_key(ARGV[5])
local v = redis.call('HGET', bk, 'ver')
if redis.call('HLEN', COUNTED) > redis.call('HLEN', HOLDS) + redis.call('HLEN', NOTES) then
  for _, what in ipairs(redis.call('HKEYS', COUNTED)) do
    local kind, id = string.match(what, '^(%a+) (.+)$')
    if redis.call('HEXISTS', kind == 'hold' and HOLDS or NOTES, id) == 0 then uncount(what) end
  end
end
if not v or tonumber(v) < tonumber(ARGV[7]) then
  redis.call('HSET', bk, 'limit', ARGV[6], 'ver', ARGV[7])
  redis.call('PERSIST', bk)
  for _, field in ipairs(redis.call('HKEYS', bk)) do
    if string.sub(field, 1, 5) == 'open ' then redis.call('HDEL', bk, field) end
  end
  for _, text in ipairs(redis.call('HVALS', COUNTED)) do
    local month, amount, ids = string.match(text, '^(%S+) (%S+) (.+)$')
    if string.find(' ' .. ids .. ' ', ' ' .. ARGV[5] .. ' ', 1, true) then redis.call('HINCRBY', bk, 'open ' .. month, amount) end
  end
end
for i = 9, #ARGV, 2 do set_spent(ARGV[5], ARGV[i], ARGV[i + 1]) end
local fields = redis.call('HGETALL', bk)
for i = 1, #fields, 2 do
  local kind, month = string.match(fields[i], '^(%a+) (.+)$')
  if month and month < ARGV[8] and (kind == 'spent' or fields[i + 1] == '0') then redis.call('HDEL', bk, fields[i]) end
end
return {count()}
