-- KEYS: the penalties hash. `expected` is '' for none. All fields are forgotten after `ttlS`.
-- args field expected value ttlS

local current = redis.call('HGET', KEYS[1], ARGV[1]) or ''
if current ~= ARGV[2] then return current end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[3])
redis.call('EXPIRE', KEYS[1], ARGV[4])
return 1
