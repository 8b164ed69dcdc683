-- Marks of tickets are `epoch wallet key generation`, and `used:hold generation` once redeemed.
--
-- Returns `not_projected` if the key would not be admitted with this generation and secret ('' for none). An existing
-- mark stays, because a delayed mint must not renew a used ticket. The mark has the epoch, because a new epoch may
-- have forgotten used tickets.
-- With a secret, a refusal is not counted, because the caller reads the key again and repeats the mint.
-- args walletId keyHash ttlMs free generation now secretHash, then ticketHashes
-- include guard budgets records refusals secrets

local n, refused, epoch = guard('admit')
if refused then return refused end
local wallet, key, ttl, is_free, now, secret = ARGV[5], ARGV[6], ARGV[7], ARGV[8] == 'free', now_ms(ARGV[10]), ARGV[11]
local w = redis.call('HMGET', wallet_key(wallet), 'funds', 'held', 'unbooked')
local k = redis.call('HMGET', key_key(key), 'gen', 'bud', 'ws', 'exp', 'sec', 'cnt')
if not w[1] or not k[3] or is_over(k[4], now) or generation_of(k[1], k[3]) ~= ARGV[9] then return {n, 'not_projected'} end
if secret ~= '' and not is_secret(k[5], key, secret, now) then return {n, 'not_projected'} end
local function refuse(kind, ...)
  if k[6] == '1' and secret == '' then count_refusal(now, epoch, key, kind) end
  return {n, ...}
end
if not is_free then
  local available = tonumber(w[1]) - tonumber(w[2] or 0) - tonumber(w[3] or 0)
  if available <= 0 then return refuse('balance', 'insufficient', int(available)) end
  local month = month_of(now)
  local scope, limit = find_exhausted(k[2], month, 1)
  if scope then return refuse(scope .. '_budget', 'over_budget', scope, month, limit) end
end
local mark = epoch .. ' ' .. wallet .. ' ' .. key .. ' ' .. ARGV[9]
for i = 12, #ARGV do redis.call('SET', ticket_key(ARGV[i]), mark, 'PX', ttl, 'NX') end
return {count(), 'minted'}
