-- `news` says that an older projection may still arrive. The first write is a deletion, as for a key.
-- args budgetId version news
-- include guard budgets spaceless

local n, refused = guard('project')
if refused then return refused end
local bk = budget_key(ARGV[5])
local b = redis.call('HMGET', bk, 'ver', 'gone')
if not b[1] and ARGV[7] == '' and redis.call('HEXISTS', LIMITS, ARGV[5]) == 0 then return {n} end
local behind = tonumber(ARGV[6]) - tonumber(b[1] or -1)
if behind < 0 or behind == 0 and b[2] then return {n} end
spaceless()
redis.call('HDEL', LIMITS, ARGV[5])
redis.call('DEL', bk)
redis.call('HSET', bk, 'ver', ARGV[6], 'gone', '1')
redis.call('PEXPIRE', bk, LATE_MS)
return {count()}
