-- Returns the key's record, generation and preferences, `inactive` if the secret does not open it now, or
-- `not_projected`. An open shard has the records of all keys that requests may use.
-- args now keyHash secretHash
-- include records secrets

local k = redis.call('HMGET', key_key(ARGV[2]), 'rec', 'gen', 'ws', 'exp', 'sec', 'wallet')
if not k[3] then return {redis.call('HGET', KEYS[1], 'open') == '1' and 'inactive' or 'not_projected'} end
local now = now_ms(ARGV[1])
if is_over(k[4], now) or not is_secret(k[5], ARGV[2], ARGV[3], now) then return {'inactive'} end
local generation, is_off = generation_of(k[2], k[3])
if is_off then return {'inactive'} end
local preferences = generation and redis.call('HGET', workspace_key(k[3]), 'pref')
if not preferences then return {'not_projected'} end
return {'active', k[1], shown(k[6], ARGV[2], generation), preferences}
