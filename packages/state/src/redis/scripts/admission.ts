import { guard, holds, names, notes } from './parts.ts';

/** What control and the brokers do for one request: mint, redeem, cancel, settle. */

/**
 * ARGV from 5: ticket hash, wallet id, key hash, ttl ms, 'free' where no balance is asked for, generation of the key. A mark
 * that is there stays: a delayed mint must not renew a used one. It bears the epoch: what an epoch before it had used up
 * may have been forgotten.
 */
export const mintScript = `${names}${guard}
local n, refused, epoch = guard('admit')
if refused then return refused end
local w = redis.call('HMGET', wallet_key(ARGV[6]), 'funds', 'held', 'unbooked')
if not w[1] or redis.call('HGET', key_key(ARGV[7]), 'gen') ~= ARGV[10] then return {n, 'not_projected'} end
local available = tonumber(w[1]) - tonumber(w[2] or 0) - tonumber(w[3] or 0)
if available <= 0 and ARGV[9] ~= 'free' then return {n, 'insufficient', int(available)} end
redis.call('SET', ticket_key(ARGV[5]), epoch .. ' ' .. ARGV[6] .. ' ' .. ARGV[7], 'PX', ARGV[8], 'NX')
return {count(), 'minted'}
`;

/** ARGV from 5: now, right kind, right hash, generation, hold id, amount, estimated tokens, 'free' where no balance is asked for. */
export const redeemScript = `${names}${guard}${holds}
local n, refused, epoch = guard('admit')
if refused then return refused end
local now = now_ms(ARGV[5])
if tonumber(ARGV[4]) <= now then return {'refused', 'unleased', tonumber(epoch)} end
local by_ticket = ARGV[6] == 'ticket'
local hold_id, amount = ARGV[9], tonumber(ARGV[10])
if redis.call('EXISTS', done_key(hold_id)) == 1 then return {n, 'closed'} end

local keyhash = ARGV[7]
local repeated = read_hold(hold_id)
if repeated then
  keyhash = repeated.key
elseif by_ticket then
  local mark = redis.call('GET', ticket_key(ARGV[7]))
  local of_epoch, _, of_key = string.match(mark or '', '^(%d+) (%S+) (%S+)$')
  if of_epoch ~= epoch then return {n, 'invalid_ticket'} end
  keyhash = of_key
end

local k = redis.call('HMGET', key_key(keyhash), 'active', 'gen', 'wallet', 'funds', 'held', 'unbooked', 'lreq', 'ltok', 'rec')
local window = math.floor(now / 60000)
local r = redis.call('HMGET', rate_key(keyhash), 'w', 'r', 't')
local requests, tokens = 0, 0
if r[1] and tonumber(r[1]) == window then requests, tokens = tonumber(r[2]), tonumber(r[3]) end
local limit_requests, limit_tokens = tonumber(k[7] or 0), tonumber(k[8] or 0)
local reset = (window + 1) * 60000 - now
local function reply(result, detail)
  return {n, result, detail, limit_requests, math.max(0, limit_requests - requests), int(limit_tokens), int(math.max(0, limit_tokens - tokens)), reset}
end
if repeated then return reply('admitted', '') end

if not k[1] or k[1] ~= '1' then
  if by_ticket then return {n, 'invalid_ticket'} end
  return {n, 'unknown_key'}
end
if k[2] ~= ARGV[8] then
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
if by_ticket then redis.call('SET', ticket_key(ARGV[7]), 'used:' .. hold_id, 'KEEPTTL') end
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
if h and h.ticket ~= '-' and redis.call('GET', ticket_key(h.ticket)) == 'used:' .. ARGV[5] then
  redis.call('SET', ticket_key(h.ticket), epoch .. ' ' .. h.wallet .. ' ' .. h.key, 'KEEPTTL')
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
