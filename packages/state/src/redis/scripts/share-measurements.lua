-- KEYS: an hour of measurements. `begun` is its name if it is new. Also stores the order of changes, so that readers
-- read only changed records.
-- args ttlS most begun, then per record: field record

local changes = KEYS[1] .. ':changes'
redis.call('HSETNX', KEYS[1], 'begun', ARGV[3])
local count = tonumber(redis.call('HGET', KEYS[1], 'count') or 0)
local records = redis.call('ZCARD', changes)
for at = 4, #ARGV, 2 do
  local isNew = redis.call('HEXISTS', KEYS[1], ARGV[at]) == 0
  if not isNew or records < tonumber(ARGV[2]) then
    if isNew then records = records + 1 end
    count = count + 1
    redis.call('HSET', KEYS[1], ARGV[at], ARGV[at + 1])
    redis.call('ZADD', changes, count, ARGV[at])
  end
end
redis.call('HSET', KEYS[1], 'count', count)
redis.call('EXPIRE', KEYS[1], ARGV[1])
redis.call('EXPIRE', changes, ARGV[1])
return 1
