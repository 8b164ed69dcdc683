-- `news` says that an older projection may still arrive. The first write is a deletion, as for a key.
-- args budgetId version news
-- include guard budgets spaceless

local n, refused = guard('project')
if refused then return refused end
local bk = budget_key(ARGV[5])
local b = redis.call('HMGET', bk, 'ver', 'limit')
if not b[1] and ARGV[7] == '' then return {n} end
local behind = tonumber(ARGV[6]) - tonumber(b[1] or -1)
if behind < 0 or behind == 0 and not b[2] then return {n} end
spaceless()
redis.call('DEL', bk)
redis.call('HSET', bk, 'ver', ARGV[6])
redis.call('PEXPIRE', bk, LATE_MS)
return {count()}
