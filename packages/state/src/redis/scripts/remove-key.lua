-- `news` says that an older projection may still arrive. The first write is a deletion, so that a key can be revoked
-- in a Redis that is out of memory. Returns whether there was a record, or is one now that refuses older projections.
-- args keyHash generation news
-- include guard records spaceless

local n, refused = guard('project')
if refused then return refused end
local kk, generation = key_key(ARGV[5]), tonumber(ARGV[6])
local k = redis.call('HMGET', kk, 'gen', 'ws')
if not k[1] and ARGV[7] == '' then return {n, 0} end
local behind = generation - tonumber(k[1] or -1)
if behind < 0 or behind == 0 and not k[2] then return {n, 0} end
spaceless()
redis.call('HDEL', kk, 'wallet', 'ws', 'rec', 'lreq', 'ltok', 'bud', 'exp', 'sec', 'cnt')
if k[2] then count_keys(k[2], -1) end
redis.call('HSET', kk, 'gen', ARGV[6])
rest(ARGV[5])
return {count(), 1}
