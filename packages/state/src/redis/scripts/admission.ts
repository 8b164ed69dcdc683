import { budgets, guard, holds, names, notes, rights, secrets } from './parts.ts';

/** The steps of one request: mint, redeem, cancel, settle. */

/**
 * Marks of tickets are `epoch wallet key generation`, and `used:hold generation` once redeemed. Marks of tickets of the first form
 * have no generation, because the ticket has it.
 *
 * ARGV from 5: ticket hash, wallet id, key hash, ttl ms, 'free' for a free request, generation of the key, form of the ticket, now.
 * An existing mark stays, because a delayed mint must not renew a used ticket. The mark has the epoch, because a new epoch may have
 * forgotten used tickets.
 */
export const mintScript = `${names}${guard}${budgets}
local n, refused, epoch = guard('admit')
if refused then return refused end
local w = redis.call('HMGET', wallet_key(ARGV[6]), 'funds', 'held', 'unbooked')
local k = redis.call('HMGET', key_key(ARGV[7]), 'gen', 'bud')
if not w[1] or k[1] ~= ARGV[10] then return {n, 'not_projected'} end
local available = tonumber(w[1]) - tonumber(w[2] or 0) - tonumber(w[3] or 0)
if available <= 0 and ARGV[9] ~= 'free' then return {n, 'insufficient', int(available)} end
if ARGV[9] ~= 'free' then
  local month = month_of(now_ms(ARGV[12]))
  local budget, limit = find_exhausted(k[2], month, 1)
  if budget then return {n, 'over_budget', budget, month, limit} end
end
local generation = ARGV[11] == '1' and '' or ' ' .. ARGV[10]
redis.call('SET', ticket_key(ARGV[5]), epoch .. ' ' .. ARGV[6] .. ' ' .. ARGV[7] .. generation, 'PX', ARGV[8], 'NX')
return {count(), 'minted'}
`;

/**
 * ARGV: now, key hash, secret hash. Returns the record and generation of the key, `inactive` if the secret does not open it now, or
 * `not_projected`.
 */
export const readKeyScript = `${names}${secrets}
local k = redis.call('HMGET', key_key(ARGV[2]), 'rec', 'gen', 'active', 'exp', 'sec')
if not k[1] then return {'not_projected'} end
local now = now_ms(ARGV[1])
if k[3] ~= '1' or is_over(k[4], now) or not is_secret(k[5], ARGV[2], ARGV[3], now) then return {'inactive'} end
return {'active', k[1], k[2]}
`;

/**
 * ARGV: now, right kind, right hash, generation of a ticket's key ('' if the mark has it), secret hash of a key. Returns the state of the rate limits,
 * `invalid` if the right cannot be redeemed now, or `not_open`. Does not return the mark, which names the wallet and the key.
 */
export const peekScript = `${names}${rights}${secrets}
local e = redis.call('HMGET', KEYS[1], 'id', 'open')
if e[2] ~= '1' then return {'not_open'} end
local now, keyhash, generation = now_ms(ARGV[1]), ARGV[3], ARGV[4]
if ARGV[2] == 'ticket' then
  local of_key, marked = read_mark(ARGV[3], e[1])
  if not of_key then return {'invalid'} end
  keyhash, generation = of_key, marked or generation
end
local k = redis.call('HMGET', key_key(keyhash), 'active', 'gen', 'lreq', 'ltok', 'exp', 'sec')
if k[1] ~= '1' or is_over(k[5], now) then return {'invalid'} end
if ARGV[2] == 'ticket' and k[2] ~= generation then return {'invalid'} end
if ARGV[2] == 'key' and not is_secret(k[6], keyhash, ARGV[5], now) then return {'invalid'} end
return {'valid', rate_status(k[3], k[4], now, read_rate(keyhash, now))}
`;

/** ARGV: client. Returns the ids of its holds, without their owners and without other clients' holds. */
export const readOwnHoldsScript = `${names}
local own, found = ARGV[1] .. ' ', {}
for _, id in ipairs(redis.call('HKEYS', HOLDS)) do
  if string.sub(redis.call('HGET', HOLDS, id), 1, #own) == own then found[#found + 1] = id end
end
return found
`;

/**
 * ARGV from 5: now, right kind, right hash, generation ('' if the mark has it), hold id, amount, estimated tokens, 'free' for a
 * free request, secret hash of a key. A secret that has ended is refused like a revoked key, whatever the broker remembers.
 */
export const redeemScript = `${names}${guard}${budgets}${holds}${rights}${secrets}
local n, refused, epoch = guard('admit')
if refused then return refused end
local now = now_ms(ARGV[5])
if tonumber(ARGV[4]) <= now then return {'refused', 'unleased', tonumber(epoch)} end
local by_ticket = ARGV[6] == 'ticket'
local hold_id, amount = ARGV[9], tonumber(ARGV[10])
if redis.call('EXISTS', done_key(hold_id)) == 1 then return {n, 'closed'} end

local keyhash, generation, marked = ARGV[7], ARGV[8], ''
local repeated = read_hold(hold_id)
if repeated then
  keyhash = repeated.key
elseif by_ticket then
  local of_key, minted_at = read_mark(ARGV[7], epoch)
  if not of_key then return {n, 'invalid_ticket'} end
  keyhash = of_key
  if minted_at then generation, marked = minted_at, ' ' .. minted_at end
end

local k = redis.call('HMGET', key_key(keyhash), 'active', 'gen', 'wallet', 'funds', 'held', 'unbooked', 'lreq', 'ltok', 'rec', 'bud', 'exp', 'sec')
local window, requests, tokens = read_rate(keyhash, now)
local limit_requests, limit_tokens = tonumber(k[7] or 0), tonumber(k[8] or 0)
local function reply(result, detail)
  return {n, result, detail, rate_status(limit_requests, limit_tokens, now, window, requests, tokens)}
end
local month = month_of(repeated and repeated.window ~= '0' and tonumber(repeated.window) * 60000 or now)
if repeated then return reply('admitted', month) end

local opens = k[1] == '1' and not is_over(k[11], now) and (by_ticket or is_secret(k[12], keyhash, ARGV[13], now))
if not opens then
  if by_ticket then return {n, 'invalid_ticket'} end
  return {n, 'unknown_key'}
end
if k[2] ~= generation then
  if by_ticket then return {n, 'invalid_ticket'} end
  return {n, 'stale_key', k[9], k[2]}
end
local estimated = tonumber(ARGV[11])
if requests + 1 > limit_requests then return reply('rate_limited', 'requests') end
if tokens > 0 and tokens + estimated > limit_tokens then return reply('rate_limited', 'tokens') end

local w = redis.call('HMGET', wallet_key(k[3]), 'funds', 'held', 'unbooked')
if not w[1] then return {n, 'not_projected'} end
local is_free = ARGV[12] == 'free'
if not is_free and tonumber(w[1]) - tonumber(w[2] or 0) - tonumber(w[3] or 0) < amount then return reply('insufficient', 'wallet') end
if not is_free and k[4] and k[4] ~= '' and tonumber(k[4]) - tonumber(k[5] or 0) - tonumber(k[6] or 0) < amount then
  return reply('insufficient', 'key')
end
if not is_free then
  local budget, limit = find_exhausted(k[10], month, amount)
  -- A ticket hides whose it is. A limit in USD could tell, so only the key itself is answered with it.
  if budget then
    return {n, 'over_budget', budget, month, by_ticket and '' or limit, rate_status(limit_requests, limit_tokens, now, window, requests, tokens)}
  end
end

n = count()
if by_ticket then redis.call('SET', ticket_key(ARGV[7]), 'used:' .. hold_id .. marked, 'KEEPTTL') end
place_hold(hold_id, ARGV[1], ARGV[10], ARGV[11], int(window), k[3], keyhash, by_ticket and ARGV[7] or '-', month, k[10])
requests, tokens = requests + 1, tokens + estimated
redis.call('HSET', rate_key(keyhash), 'w', int(window), 'r', int(requests), 't', int(tokens))
redis.call('PEXPIRE', rate_key(keyhash), 120000)
return reply('admitted', month)
`;

/** ARGV from 5: hold id, tombstone ttl ms. Makes the redeemed ticket valid again until its original expiry. */
export const cancelScript = `${names}${guard}${budgets}${holds}
local n, refused, epoch = guard('settle')
if refused then return refused end
if redis.call('EXISTS', done_key(ARGV[5])) == 1 then return {n} end
local h = release(ARGV[5])
if h and h.ticket ~= '-' then
  local used_by, generation = string.match(redis.call('GET', ticket_key(h.ticket)) or '', '^used:(%S+)( ?%d*)$')
  if used_by == ARGV[5] then
    redis.call('SET', ticket_key(h.ticket), epoch .. ' ' .. h.wallet .. ' ' .. h.key .. generation, 'KEEPTTL')
  end
end
redis.call('SET', done_key(ARGV[5]), 'cancelled', 'PX', ARGV[6])
return {count()}
`;

/**
 * ARGV from 5: hold id, charge, used tokens, tombstone ttl ms, payload ('' for none), mac. Closes an unknown hold too, because its
 * redeem may arrive later. A reaped hold is noted with its former wallet. Returns the entry and the epoch.
 */
export const settleScript = `${names}${guard}${budgets}${holds}${notes}
local n, refused, epoch = guard('settle')
if refused then return refused end
local id = ARGV[5]
local h = release(id)
if h then
  place_note(id, h.wallet, h.key, ARGV[6], h.month, h.budgets)
  local r = redis.call('HMGET', rate_key(h.key), 'w', 't')
  if r[1] and r[1] == h.window then
    redis.call('HSET', rate_key(h.key), 't', int(math.max(0, tonumber(r[2]) - tonumber(h.tokens) + tonumber(ARGV[7]))))
  end
else
  local reaped = redis.call('GET', reaped_key(id))
  if reaped then
    local month, ids = string.match(redis.call('GET', reaped_budgets_key(id)) or '', '^(%S+) (.+)$')
    redis.call('DEL', reaped_key(id), reaped_budgets_key(id))
    local wallet, key = string.match(reaped, '^(%S+) (%S+)$')
    place_note(id, wallet, key, ARGV[6], month, ids)
  end
end
redis.call('SET', done_key(id), 'settled', 'PX', ARGV[8], 'NX')
n = count()
if ARGV[9] == '' then return {n} end
return {n, redis.call('XADD', P .. 'stream', '*', 'p', ARGV[9], 'm', ARGV[10]), tonumber(epoch)}
`;
