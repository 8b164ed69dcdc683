-- Returns the state of the rate limits, `invalid` if the right cannot be redeemed now, or `not_open`. Does not return
-- the mark, which names the wallet and the key.
-- args now kind hash secretHash
-- include records rights secrets

local e = redis.call('HMGET', KEYS[1], 'id', 'open')
if e[2] ~= '1' then return {'not_open'} end
local now, keyhash, generation = now_ms(ARGV[1]), ARGV[3], nil
if ARGV[2] == 'ticket' then
  keyhash, generation = read_mark(ARGV[3], e[1])
  if not keyhash then return {'invalid'} end
end
local k = redis.call('HMGET', key_key(keyhash), 'ws', 'gen', 'lreq', 'ltok', 'exp', 'sec', 'w', 'r', 't')
if not k[1] or is_over(k[5], now) then return {'invalid'} end
if ARGV[2] == 'key' and not is_secret(k[6], keyhash, ARGV[4], now) then return {'invalid'} end
local current, is_off, is_valid = generation_of(k[2], k[1])
if is_off then return {'invalid'} end
if not current then return {'not_open'} end
if ARGV[2] == 'ticket' and not is_valid(generation) then return {'invalid'} end
return {'valid', rate_status(k[3], k[4], now, read_rate(now, k[7], k[8], k[9]))}
