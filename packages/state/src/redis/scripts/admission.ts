import { channels } from '../channels.ts';
import { batches, budgets, guard, holds, names, notes, records, rights, secrets } from './parts.ts';

/** The steps of one request: mint, redeem, cancel, settle. */

/**
 * Marks of tickets are `epoch wallet key generation`, and `used:hold generation` once redeemed.
 *
 * ARGV from 5: wallet id, key hash, ttl ms, 'free' for a free request, generation, now, secret hash
 * ('' for none), then the ticket hashes. Returns `not_projected` if the key would not be admitted with this generation and secret.
 * An existing mark stays, because a delayed mint must not renew a used ticket. The mark has the epoch, because a new epoch may have
 * forgotten used tickets.
 */
export const mintScript = `${names}${guard}${budgets}${records}${secrets}
local n, refused, epoch = guard('admit')
if refused then return refused end
local wallet, key, ttl, is_free, now, secret = ARGV[5], ARGV[6], ARGV[7], ARGV[8] == 'free', now_ms(ARGV[10]), ARGV[11]
local w = redis.call('HMGET', wallet_key(wallet), 'funds', 'held', 'unbooked')
local k = redis.call('HMGET', key_key(key), 'gen', 'bud', 'ws', 'exp', 'sec')
if not w[1] or not k[3] or is_over(k[4], now) or generation_of(k[1], k[3]) ~= ARGV[9] then return {n, 'not_projected'} end
if secret ~= '' and not is_secret(k[5], key, secret, now) then return {n, 'not_projected'} end
if not is_free then
  local available = tonumber(w[1]) - tonumber(w[2] or 0) - tonumber(w[3] or 0)
  if available <= 0 then return {n, 'insufficient', int(available)} end
  local month = month_of(now)
  local scope, limit = find_exhausted(k[2], month, 1)
  if scope then return {n, 'over_budget', scope, month, limit} end
end
local mark = epoch .. ' ' .. wallet .. ' ' .. key .. ' ' .. ARGV[9]
for i = 12, #ARGV do redis.call('SET', ticket_key(ARGV[i]), mark, 'PX', ttl, 'NX') end
return {count(), 'minted'}
`;

/**
 * ARGV: now, key hash, secret hash. Returns the key's record, generation and preferences, `inactive` if the secret does not open it now,
 * or `not_projected`. An open shard has the records of all keys that requests may use.
 */
export const readKeyScript = `${names}${records}${secrets}
local k = redis.call('HMGET', key_key(ARGV[2]), 'rec', 'gen', 'ws', 'exp', 'sec', 'wallet')
if not k[3] then return {redis.call('HGET', KEYS[1], 'open') == '1' and 'inactive' or 'not_projected'} end
local now = now_ms(ARGV[1])
if is_over(k[4], now) or not is_secret(k[5], ARGV[2], ARGV[3], now) then return {'inactive'} end
local generation, is_off = generation_of(k[2], k[3])
if is_off then return {'inactive'} end
local preferences = generation and redis.call('HGET', workspace_key(k[3]), 'pref')
if not preferences then return {'not_projected'} end
return {'active', k[1], shown(k[6], ARGV[2], generation), preferences}
`;

/**
 * ARGV: now, right kind, right hash, secret hash of a key. Returns the state of the rate limits,
 * `invalid` if the right cannot be redeemed now, or `not_open`. Does not return the mark, which names the wallet and the key.
 */
export const peekScript = `${names}${records}${rights}${secrets}
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
 * ARGV: now, then requests as in `batches`, each with: right kind, right hash, generation of a key as it
 * was shown, hold id, amount, estimated tokens, 'free' for a free request, secret hash of a key. A secret that has ended is refused like a revoked key, whatever
 * the broker remembers.
 */
export const redeemScript = `${names}${guard}${batches}${budgets}${records}${holds}${rights}${secrets}
local now = now_ms(ARGV[1])
local this_month, window_text = month_of(now), int(math.floor(now / 60000))
local function find_refusal(at, epoch)
  if tonumber(ARGV[at + 3]) <= now then return {'refused', 'unleased', tonumber(epoch)} end
end
return each_request('admit', 8, function(at, client, epoch)
  local by_ticket, right, generation = ARGV[at] == 'ticket', ARGV[at + 1], ARGV[at + 2]
  local hold_id, amount, estimated, is_free = ARGV[at + 3], tonumber(ARGV[at + 4]), tonumber(ARGV[at + 5]), ARGV[at + 6] == 'free'
  if redis.call('EXISTS', done_key(hold_id)) == 1 then return {'closed'} end

  local keyhash = right
  local repeated = read_hold(hold_id)
  if repeated then
    keyhash = repeated.key
  elseif by_ticket then
    keyhash, generation = read_mark(right, epoch)
    if not keyhash then return {'invalid_ticket'} end
  end

  local k = redis.call('HMGET', key_key(keyhash), 'ws', 'gen', 'wallet', 'funds', 'held', 'unbooked', 'lreq', 'ltok', 'bud', 'exp', 'sec', 'w', 'r', 't')
  local window, requests, tokens = read_rate(now, k[12], k[13], k[14])
  local limit_requests, limit_tokens = k[7], k[8]
  local function reply(result, detail)
    return {result, detail, rate_status(limit_requests, limit_tokens, now, window, requests, tokens)}
  end
  if repeated then
    return reply('admitted', repeated.window == '0' and this_month or month_of(tonumber(repeated.window) * 60000))
  end

  local opens = k[1] and not is_over(k[10], now) and (by_ticket or is_secret(k[11], keyhash, ARGV[at + 7], now))
  local current, is_off, is_valid
  if opens then current, is_off, is_valid = generation_of(k[2], k[1]) end
  if not opens or is_off then return {by_ticket and 'invalid_ticket' or 'unknown_key'} end
  if not current then return {'not_projected'} end
  if by_ticket and not is_valid(generation) then return {'invalid_ticket'} end
  if not by_ticket then current = shown(k[3], keyhash, current) end
  if not by_ticket and current ~= generation then
    return {'stale_key', redis.call('HGET', key_key(keyhash), 'rec'), current, redis.call('HGET', workspace_key(k[1]), 'pref')}
  end
  if requests + 1 > tonumber(limit_requests) then return reply('rate_limited', 'requests') end
  if tokens > 0 and tokens + estimated > tonumber(limit_tokens) then return reply('rate_limited', 'tokens') end

  local w = redis.call('HMGET', wallet_key(k[3]), 'funds', 'held', 'unbooked')
  if not w[1] then return {'not_projected'} end
  local scope, limit, present
  if not is_free then
    if tonumber(w[1]) - tonumber(w[2] or 0) - tonumber(w[3] or 0) < amount then return reply('insufficient', 'wallet') end
    if k[4] and k[4] ~= '' and tonumber(k[4]) - tonumber(k[5] or 0) - tonumber(k[6] or 0) < amount then
      return reply('insufficient', 'key')
    end
    scope, limit, present = find_exhausted(k[9], this_month, amount)
    -- A ticket hides whose it is. A limit in USD could tell, so only the key itself is answered with it.
    if scope then
      return {'over_budget', scope, this_month, by_ticket and '' or limit, rate_status(limit_requests, limit_tokens, now, window, requests, tokens)}
    end
  end

  if by_ticket then redis.call('SET', ticket_key(right), 'used:' .. hold_id .. ' ' .. generation, 'KEEPTTL') end
  write_hold(hold_id, client, ARGV[at + 4], ARGV[at + 5], window_text, k[3], keyhash, by_ticket and right or '-', this_month, k[9], amount > 0 and present)
  requests, tokens = requests + 1, tokens + estimated
  local held = int(tonumber(k[5] or 0) + amount)
  if k[12] == window_text then
    redis.call('HSET', key_key(keyhash), 'held', held, 'r', requests, 't', int(tokens))
  else
    redis.call('HSET', key_key(keyhash), 'held', held, 'r', requests, 't', int(tokens), 'w', window_text)
  end
  return reply('admitted', this_month), true
end, find_refusal)
`;

/** ARGV from 5: hold id, tombstone ttl ms. Makes the redeemed ticket valid again until its original expiry. */
export const cancelScript = `${names}${guard}${budgets}${records}${holds}
local n, refused, epoch = guard('settle')
if refused then return refused end
if redis.call('EXISTS', done_key(ARGV[5])) == 1 then return {n} end
local h = release(ARGV[5])
if h and h.ticket ~= '-' then
  local used_by, generation = string.match(redis.call('GET', ticket_key(h.ticket)) or '', '^used:(%S+) ([%d.]+)$')
  if used_by == ARGV[5] then
    redis.call('SET', ticket_key(h.ticket), epoch .. ' ' .. h.wallet .. ' ' .. h.key .. ' ' .. generation, 'KEEPTTL')
  end
end
redis.call('SET', done_key(ARGV[5]), 'cancelled', 'PX', ARGV[6])
return {count()}
`;

/**
 * ARGV: tombstone ttl ms, then requests as in `batches`, each with: hold id, charge, used tokens, payload ('' for none), mac. Closes
 * an unknown hold too, because its redeem may arrive later. A reaped hold is noted with its former wallet. Replies with the entry
 * in the stream, or '' for none. Announces the first entry of a stream. Without the right to do so it settles all the same.
 */
export const settleScript = `${names}${guard}${batches}${budgets}${records}${notes}
local closed_ms = ARGV[1]
return each_request('settle', 5, function(at)
  local id, charge, payload = ARGV[at], ARGV[at + 1], ARGV[at + 3]
  local text = redis.call('HGET', HOLDS, id)
  if text then
    local amount, tokens, window, wallet, key = string.match(text, '^%S+ (%S+) (%S+) (%S+) (%S+) (%S+)')
    redis.call('HDEL', HOLDS, id)
    if amount ~= '0' then redis.call('HINCRBY', wallet_key(wallet), 'held', '-' .. amount) end
    local is_noted = charge ~= '0' and redis.call('HSETNX', NOTES, id, wallet .. ' ' .. key .. ' ' .. charge) == 1
    if is_noted then redis.call('HINCRBY', wallet_key(wallet), 'unbooked', charge) end
    local k = redis.call('HMGET', key_key(key), 'held', 'unbooked', 'w', 't', 'ws')
    local unbooked = is_noted and int(tonumber(k[2] or 0) + tonumber(charge)) or k[2] or '0'
    local used = tonumber(k[4] or 0)
    if k[3] == window then used = math.max(0, used - tonumber(tokens) + tonumber(ARGV[at + 2])) end
    if k[5] then
      redis.call('HSET', key_key(key), 'held', int(tonumber(k[1] or 0) - tonumber(amount)), 'unbooked', unbooked, 't', int(used))
    else
      -- The key was removed. Its record may have gone with its last amount.
      if amount ~= '0' then redis.call('HINCRBY', key_key(key), 'held', '-' .. amount) end
      if is_noted then redis.call('HINCRBY', key_key(key), 'unbooked', charge) end
      if k[3] == window then redis.call('HSET', key_key(key), 't', int(used)) end
      rest(key)
    end
    local month, ids = uncount('hold ' .. id)
    if is_noted then count_in('note ' .. id, month, charge, ids) end
  else
    local reaped = redis.call('GET', reaped_key(id))
    if reaped then
      local month, ids = string.match(redis.call('GET', reaped_budgets_key(id)) or '', '^(%S+) (.+)$')
      redis.call('DEL', reaped_key(id), reaped_budgets_key(id))
      local wallet, key = string.match(reaped, '^(%S+) (%S+)$')
      place_note(id, wallet, key, charge, month, ids)
    end
  end
  redis.call('SET', done_key(id), 'settled', 'PX', closed_ms, 'NX')
  if payload == '' then return '', true end
  local place = redis.call('XADD', P .. 'stream', '*', 'p', payload, 'm', ARGV[at + 4])
  if redis.pcall('XLEN', P .. 'stream') == 1 then redis.pcall('PUBLISH', '${channels.settled}', '') end
  return place, true
end)
`;
