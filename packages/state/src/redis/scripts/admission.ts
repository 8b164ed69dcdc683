import { guard, holds, names, notes, rights } from './parts.ts';

/** What control and the brokers do for one request: mint, redeem, cancel, settle. */

/**
 * Marks of tickets are `epoch wallet key generation`, and `used:hold generation` once redeemed. Where the ticket is of
 * the first form it says the generation itself, and its marks have none.
 *
 * ARGV from 5: ticket hash, wallet id, key hash, ttl ms, 'free' where no balance is asked for, generation of the key, form
 * of the ticket. A mark that is there stays: a delayed mint must not renew a used one. It bears the epoch: an epoch
 * before it may have forgotten which tickets were used.
 */
export const mintScript = `${names}${guard}
local n, refused, epoch = guard('admit')
if refused then return refused end
local w = redis.call('HMGET', wallet_key(ARGV[6]), 'funds', 'held', 'unbooked')
if not w[1] or redis.call('HGET', key_key(ARGV[7]), 'gen') ~= ARGV[10] then return {n, 'not_projected'} end
local available = tonumber(w[1]) - tonumber(w[2] or 0) - tonumber(w[3] or 0)
if available <= 0 and ARGV[9] ~= 'free' then return {n, 'insufficient', int(available)} end
local generation = ARGV[11] == '1' and '' or ' ' .. ARGV[10]
redis.call('SET', ticket_key(ARGV[5]), epoch .. ' ' .. ARGV[6] .. ' ' .. ARGV[7] .. generation, 'PX', ARGV[8], 'NX')
return {count(), 'minted'}
`;

/**
 * ARGV: now, right kind, right hash, generation of a ticket's key ('' where the mark has it). The state of the rate limits,
 * `invalid` where the right could not be redeemed now, or `not_open`. Says nothing of the mark itself, for that names the
 * wallet and the key.
 */
export const peekScript = `${names}${rights}
local e = redis.call('HMGET', KEYS[1], 'id', 'open')
if e[2] ~= '1' then return {'not_open'} end
local now, keyhash, generation = now_ms(ARGV[1]), ARGV[3], ARGV[4]
if ARGV[2] == 'ticket' then
  local of_key, marked = read_mark(ARGV[3], e[1])
  if not of_key then return {'invalid'} end
  keyhash, generation = of_key, marked or generation
end
local k = redis.call('HMGET', key_key(keyhash), 'active', 'gen', 'lreq', 'ltok')
if k[1] ~= '1' or (ARGV[2] == 'ticket' and k[2] ~= generation) then return {'invalid'} end
return {'valid', rate_status(k[3], k[4], now, read_rate(keyhash, now))}
`;

/** ARGV: client. The ids of its holds; nothing of whose they are, and nothing of anyone else's. */
export const readOwnHoldsScript = `${names}
local own, found = ARGV[1] .. ' ', {}
for _, id in ipairs(redis.call('HKEYS', HOLDS)) do
  if string.sub(redis.call('HGET', HOLDS, id), 1, #own) == own then found[#found + 1] = id end
end
return found
`;

/**
 * ARGV from 5: now, right kind, right hash, generation ('' where the mark has it), hold id, amount, estimated tokens, 'free'
 * where no balance is asked for.
 */
export const redeemScript = `${names}${guard}${holds}${rights}
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

local k = redis.call('HMGET', key_key(keyhash), 'active', 'gen', 'wallet', 'funds', 'held', 'unbooked', 'lreq', 'ltok', 'rec')
local window, requests, tokens = read_rate(keyhash, now)
local limit_requests, limit_tokens = tonumber(k[7] or 0), tonumber(k[8] or 0)
local function reply(result, detail)
  return {n, result, detail, rate_status(limit_requests, limit_tokens, now, window, requests, tokens)}
end
if repeated then return reply('admitted', '') end

if not k[1] or k[1] ~= '1' then
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

n = count()
if by_ticket then redis.call('SET', ticket_key(ARGV[7]), 'used:' .. hold_id .. marked, 'KEEPTTL') end
place_hold(hold_id, ARGV[1], ARGV[10], ARGV[11], int(window), k[3], keyhash, by_ticket and ARGV[7] or '-')
requests, tokens = requests + 1, tokens + estimated
redis.call('HSET', rate_key(keyhash), 'w', int(window), 'r', int(requests), 't', int(tokens))
redis.call('PEXPIRE', rate_key(keyhash), 120000)
return reply('admitted', '')
`;

/** ARGV from 5: hold id, tombstone ttl ms. The ticket that the redeem used is valid again, for as long as it would have been. */
export const cancelScript = `${names}${guard}${holds}
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
 * ARGV from 5: hold id, charge, used tokens, tombstone ttl ms, payload ('' for none), mac. A hold that is not there is
 * closed all the same: its redeem may be yet to arrive. One that was reaped is noted with the wallet it was of.
 * Answers the entry and the epoch.
 */
export const settleScript = `${names}${guard}${holds}${notes}
local n, refused, epoch = guard('settle')
if refused then return refused end
local id = ARGV[5]
local h = release(id)
if h then
  place_note(id, h.wallet, h.key, ARGV[6])
  local r = redis.call('HMGET', rate_key(h.key), 'w', 't')
  if r[1] and r[1] == h.window then
    redis.call('HSET', rate_key(h.key), 't', int(math.max(0, tonumber(r[2]) - tonumber(h.tokens) + tonumber(ARGV[7]))))
  end
else
  local reaped = redis.call('GET', reaped_key(id))
  if reaped then
    redis.call('DEL', reaped_key(id))
    local wallet, key = string.match(reaped, '^(%S+) (%S+)$')
    place_note(id, wallet, key, ARGV[6])
  end
end
redis.call('SET', done_key(id), 'settled', 'PX', ARGV[8], 'NX')
n = count()
if ARGV[9] == '' then return {n} end
return {n, redis.call('XADD', P .. 'stream', '*', 'p', ARGV[9], 'm', ARGV[10]), tonumber(epoch)}
`;
