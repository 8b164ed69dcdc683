-- Replaces an older balance.
-- args walletId balance version
-- include guard

local n, refused = guard('project')
if refused then return refused end
local wk = wallet_key(ARGV[5])
local v = redis.call('HGET', wk, 'ver')
if v and tonumber(v) >= tonumber(ARGV[7]) then return {n} end
redis.call('HSET', wk, 'funds', ARGV[6], 'ver', ARGV[7])
return {count()}
