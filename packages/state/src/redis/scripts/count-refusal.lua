-- Counts a request that a process refused before it redeemed a right. Tells nothing, not even whose the right is.
-- args now rightKind hash kind
-- include refusals rights

local e = redis.call('HMGET', EPOCH, 'id', 'open')
if e[2] ~= '1' then return 0 end
local key = ARGV[3]
if ARGV[2] == 'ticket' then key = read_mark(key, e[1]) end
if key and redis.call('HGET', key_key(key), 'cnt') == '1' then count_refusal(now_ms(ARGV[1]), e[1], key, ARGV[4]) end
return 0
