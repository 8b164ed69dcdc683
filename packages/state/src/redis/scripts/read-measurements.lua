-- KEYS: an hour of measurements. `begun` and `since` are its name and count as the caller knows them.
-- args begun since limit

local begun = redis.call('HGET', KEYS[1], 'begun') or ''
local since = ARGV[2]
if begun ~= ARGV[1] or tonumber(since) > tonumber(redis.call('HGET', KEYS[1], 'count') or 0) then since = '0' end
local found = redis.call('ZRANGEBYSCORE', KEYS[1] .. ':changes', '(' .. since, '+inf', 'WITHSCORES', 'LIMIT', 0, ARGV[3])
local fields = {}
for at = 1, #found, 2 do
  fields[#fields + 1] = found[at]
  since = found[at + 1]
end
return {begun, since, fields, #fields > 0 and redis.call('HMGET', KEYS[1], unpack(fields)) or {}}
