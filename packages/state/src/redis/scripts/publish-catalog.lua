-- KEYS: the catalog hash.
-- args version snapshot

local v = redis.call('HGET', KEYS[1], 'version')
if v and tonumber(v) >= tonumber(ARGV[1]) then return 0 end
redis.call('HSET', KEYS[1], 'version', ARGV[1], 'snapshot', ARGV[2])
return 1
