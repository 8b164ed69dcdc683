/**
 * The Lua scripts: each is one atomic step on one shard. `KEYS[1]` is the shard's epoch key, which routes the script
 * on a cluster; the other names are built from its prefix, in the same slot. Amounts are integers below 2^53.
 *
 * Every step of a caller begins with ARGV: client, epoch, acked, lease until (`membership/membership.ts`), and answers
 * the number of the caller's steps first, negative where this was one, or `refused`, the reason and the shard's epoch.
 */

const names = `
local P = string.sub(KEYS[1], 1, -6)
local HOLDS, NOTES, CLIENTS = P .. 'holds', P .. 'notes', P .. 'clients'
local function wallet_key(id) return P .. 'wallet:' .. id end
local function key_key(hash) return P .. 'key:' .. hash end
local function done_key(id) return P .. 'done:' .. id end
local function reaped_key(id) return P .. 'reaped:' .. id end
local function rate_key(hash) return P .. 'rate:' .. hash end
local function ticket_key(hash) return P .. 'ticket:' .. hash end
local function now_ms(given)
  if given ~= '' then return tonumber(given) end
  local t = redis.call('TIME')
  return t[1] * 1000 + math.floor(t[2] / 1000)
end
local function int(value) return string.format('%.0f', value) end
`;

/**
 * Whether the caller may take this step. Only reads, but for an epoch that ends because the shard has lost something:
 * an older one than the caller's, or one that forgot steps it had answered. Kinds: 'admit' and 'settle' need an open
 * epoch, 'project' any.
 */
const guard = `
local function guard(kind)
  local e = redis.call('HMGET', KEYS[1], 'id', 'open')
  if not e[1] then return nil, {'refused', 'not_ready', 0} end
  local mine, theirs = tonumber(ARGV[2]), tonumber(e[1])
  if mine < theirs then return nil, {'refused', 'new_epoch', theirs} end
  if mine > theirs then
    redis.call('DEL', KEYS[1])
    return nil, {'refused', 'rolled_back', theirs}
  end
  local c = redis.call('HMGET', CLIENTS, ARGV[1] .. ' n', ARGV[1] .. ' lapsed')
  if c[2] then return nil, {'refused', 'lapsed', theirs} end
  if tonumber(c[1] or 0) < tonumber(ARGV[3]) then
    redis.call('DEL', KEYS[1])
    return nil, {'refused', 'rolled_back', theirs}
  end
  if kind == 'join' then return c[1], nil, e[2] == '1' end
  if not c[1] then return nil, {'refused', 'not_joined', theirs} end
  if kind ~= 'project' and e[2] ~= '1' then return nil, {'refused', 'not_open', theirs} end
  return tonumber(c[1]), nil, e[1]
end
local function count() return -redis.call('HINCRBY', CLIENTS, ARGV[1] .. ' n', 1) end
`;

/**
 * Takes a hold off its wallet and key. Deletes first: a Redis that is out of memory refuses only the first write of a
 * script, and ending a hold must go on there. A hold of a free route is 0, and '-0' is no integer.
 * A hold is `client amount tokens window wallet key ticket`, where `-` stands for no ticket.
 */
const holds = `
local function read_hold(id)
  local text = redis.call('HGET', HOLDS, id)
  if not text then return nil end
  local h = {}
  h.client, h.amount, h.tokens, h.window, h.wallet, h.key, h.ticket = string.match(text, '^(%S+) (%S+) (%S+) (%S+) (%S+) (%S+) (%S+)$')
  return h
end
local function release(id)
  local h = read_hold(id)
  if not h then return nil end
  redis.call('HDEL', HOLDS, id)
  if h.amount ~= '0' then
    redis.call('HINCRBY', wallet_key(h.wallet), 'held', '-' .. h.amount)
    redis.call('HINCRBY', key_key(h.key), 'held', '-' .. h.amount)
  end
  return h
end
local function place_hold(id, client, amount, tokens, window, wallet, key, ticket)
  redis.call('HSET', HOLDS, id, client .. ' ' .. amount .. ' ' .. tokens .. ' ' .. window .. ' ' .. wallet .. ' ' .. key .. ' ' .. ticket)
  redis.call('HINCRBY', wallet_key(wallet), 'held', amount)
  redis.call('HINCRBY', key_key(key), 'held', amount)
end
`;

/** Notes of charges that are not booked yet, `wallet key amount` by hold id. */
const notes = `
local function drop_note(id)
  local text = redis.call('HGET', NOTES, id)
  if not text then return end
  local wallet, key, amount = string.match(text, '^(%S+) (%S+) (%S+)$')
  redis.call('HDEL', NOTES, id)
  redis.call('HINCRBY', wallet_key(wallet), 'unbooked', '-' .. amount)
  redis.call('HINCRBY', key_key(key), 'unbooked', '-' .. amount)
end
local function place_note(id, wallet, key, amount)
  if amount == '0' or redis.call('HSETNX', NOTES, id, wallet .. ' ' .. key .. ' ' .. amount) == 0 then return end
  redis.call('HINCRBY', wallet_key(wallet), 'unbooked', amount)
  redis.call('HINCRBY', key_key(key), 'unbooked', amount)
end
`;

/**
 * For scripts that must go on in a Redis that is out of memory: it refuses only the first write of a script, unless
 * that deletes. What the settler does is what makes room again.
 */
const spaceless = `
local function spaceless() redis.call('HDEL', CLIENTS, 'none') end
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

/** ARGV from 5: the hold ids. */
export const forgetScript = `${names}${guard}${notes}${spaceless}
local n, refused = guard('project')
if refused then return refused end
spaceless()
for i = 5, #ARGV do drop_note(ARGV[i]) end
return {count()}
`;

/**
 * ARGV from 5: wallet id, balance, version, number of keys, then per key: hash, funds, version; then the hold ids.
 * The funds of a key are kept even before its record has come: an older record that comes later must not undo them.
 */
export const bookScript = `${names}${guard}${notes}${spaceless}
local n, refused = guard('project')
if refused then return refused end
spaceless()
local function newer(key, version)
  local v = redis.call('HGET', key, 'ver')
  return not v or tonumber(v) < tonumber(version)
end
local keys = tonumber(ARGV[8])
for i = 9 + keys * 3, #ARGV do drop_note(ARGV[i]) end
local wk = wallet_key(ARGV[5])
if newer(wk, ARGV[7]) then redis.call('HSET', wk, 'funds', ARGV[6], 'ver', ARGV[7]) end
for i = 0, keys - 1 do
  local hash, funds, version = ARGV[9 + i * 3], ARGV[10 + i * 3], ARGV[11 + i * 3]
  local kk = key_key(hash)
  if newer(kk, version) then redis.call('HSET', kk, 'funds', funds, 'ver', version) end
end
return {count()}
`;

/** ARGV from 5: wallet id, balance, version. */
export const putWalletScript = `${names}${guard}
local n, refused = guard('project')
if refused then return refused end
local wk = wallet_key(ARGV[5])
local v = redis.call('HGET', wk, 'ver')
if v and tonumber(v) >= tonumber(ARGV[7]) then return {n} end
redis.call('HSET', wk, 'funds', ARGV[6], 'ver', ARGV[7])
return {count()}
`;

/** ARGV from 5: key hash, wallet id, generation, active, record, funds, funds version, request limit, token limit. */
export const putKeyScript = `${names}${guard}
local n, refused = guard('project')
if refused then return refused end
local kk = key_key(ARGV[5])
local now = redis.call('HMGET', kk, 'gen', 'ver')
if not now[1] or tonumber(now[1]) <= tonumber(ARGV[7]) then
  redis.call('HSET', kk, 'wallet', ARGV[6], 'gen', ARGV[7], 'active', ARGV[8], 'rec', ARGV[9], 'lreq', ARGV[12], 'ltok', ARGV[13])
end
if not now[2] or tonumber(now[2]) < tonumber(ARGV[11]) then
  redis.call('HSET', kk, 'funds', ARGV[10], 'ver', ARGV[11])
end
return {count()}
`;

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

/** Guarded, so that a broker that lost a settlement is not told of a watermark beyond its place. */
export const watermarkScript = `${names}${guard}
local n, refused, epoch = guard('settle')
if refused then return refused end
return {n, redis.call('GET', P .. 'watermark') or '0-0', tonumber(epoch)}
`;

/** ARGV from 5: stream id. Moves the watermark forward only, and trims what it has passed. */
export const acknowledgeScript = `${names}${guard}${spaceless}
local n, refused = guard('project')
if refused then return refused end
local function parts(id)
  local ms, seq = string.match(id, '^(%d+)-(%d+)$')
  return tonumber(ms), tonumber(seq)
end
local ms, seq = parts(ARGV[5])
if not ms then return redis.error_reply('ERR no stream id') end
local current = redis.call('GET', P .. 'watermark')
if current then
  local cms, cseq = parts(current)
  if cms > ms or (cms == ms and cseq >= seq) then return {n} end
end
spaceless()
redis.call('SET', P .. 'watermark', ARGV[5])
redis.call('XTRIM', P .. 'stream', 'MINID', string.format('%.0f-%.0f', ms, seq + 1))
return {count()}
`;

/**
 * ARGV from 5: now, lease ttl ms, declaration ('' for nothing to declare, '-' for a renewal), mac. Renews the lease of a caller that is
 * there; takes one that has nothing to declare; of others, keeps what they declare until control has restored it.
 * The first write deletes, for a Redis that is out of memory: leases must not lapse for that.
 */
export const joinScript = `${names}${guard}
local n, refused, open = guard('join')
if refused then return refused end
if not n and ARGV[7] == '-' then return {'refused', 'not_joined', tonumber(ARGV[2])} end
if not n and ARGV[7] ~= '' then
  redis.call('HSET', P .. 'declared', ARGV[1], ARGV[8] .. ' ' .. ARGV[7])
  return {0, 'declared', open and 1 or 0, 0}
end
local lease_until = now_ms(ARGV[5]) + tonumber(ARGV[6])
redis.call('HDEL', CLIENTS, ARGV[1] .. ' suspect')
redis.call('HSET', CLIENTS, ARGV[1] .. ' until', int(lease_until))
if not n then redis.call('HSET', CLIENTS, ARGV[1] .. ' n', 0) end
return {tonumber(n or 0), 'joined', open and 1 or 0, int(lease_until)}
`;

/** Releases every hold whose holder is not among the living; what they come to may still be settled. */
const releaseAbandoned = `
local function release_abandoned(alive)
  local released = 0
  for _, id in ipairs(redis.call('HKEYS', HOLDS)) do
    if not alive[read_hold(id).client] then
      local h = release(id)
      redis.call('SET', reaped_key(id), h.wallet .. ' ' .. h.key, 'PX', 86400000)
      released = released + 1
    end
  end
  return released
end
local function read_clients()
  local found, clients = redis.call('HGETALL', CLIENTS), {}
  for i = 1, #found, 2 do
    local client, field = string.match(found[i], '^(%S+) (%S+)$')
    clients[client] = clients[client] or {}
    clients[client][field] = tonumber(found[i + 1])
  end
  return clients
end
local function lapse(client, now)
  redis.call('HDEL', CLIENTS, client .. ' n', client .. ' until', client .. ' suspect')
  redis.call('HSET', CLIENTS, client .. ' lapsed', int(now))
end
`;

/** ARGV from 5: now. A caller that goes of its own will is not waited for. */
export const leaveScript = `${names}${guard}${holds}${releaseAbandoned}
local n, refused = guard('project')
if refused then return refused end
lapse(ARGV[1], now_ms(ARGV[5]))
local alive = {}
for client, f in pairs(read_clients()) do
  if not f.lapsed then alive[client] = true end
end
release_abandoned(alive)
return {0}
`;

/**
 * ARGV: now, grace ms. A lease that is found lapsed is suspect first, and reaped only if it is not renewed within the
 * grace: after a Redis that stood still, or whose clock was set forward, everyone is late at once.
 * Answers the number of holds that were released. The first write deletes, as in `join`.
 */
export const reapScript = `${names}${holds}${releaseAbandoned}
if redis.call('HGET', KEYS[1], 'open') ~= '1' then return 0 end
redis.call('HDEL', CLIENTS, 'none')
local now, grace = now_ms(ARGV[1]), tonumber(ARGV[2])
local alive, reaped = {}, false
for client, f in pairs(read_clients()) do
  if f.lapsed then
    if now - f.lapsed > 86400000 then redis.call('HDEL', CLIENTS, client .. ' lapsed') end
  elseif f['until'] > now then
    alive[client] = true
  else
    -- A suspicion of later than now is of a clock that was set back.
    if not f.suspect or f.suspect > now then
      f.suspect = now
      redis.call('HSET', CLIENTS, client .. ' suspect', int(now))
    end
    if now - f.suspect < grace then
      alive[client] = true
    else
      reaped = true
      lapse(client, now)
    end
  end
end
return reaped and release_abandoned(alive) or 0
`;

/**
 * ARGV: epoch. Begins an epoch where there is none: what the shard still has of holds and notes is taken off, for it
 * may be of before; those whose they are declare them again. Tickets of older epochs stay dead.
 */
export const beginEpochScript = `${names}${holds}${notes}
if redis.call('EXISTS', KEYS[1]) == 1 then return 0 end
for _, id in ipairs(redis.call('HKEYS', HOLDS)) do release(id) end
for _, id in ipairs(redis.call('HKEYS', NOTES)) do drop_note(id) end
redis.call('DEL', CLIENTS, P .. 'declared')
redis.call('HSET', KEYS[1], 'id', ARGV[1], 'open', '0')
return 1
`;

/**
 * ARGV from 5: client, now, lease ttl ms, number of holds, then per hold: id, wallet id, key hash, amount; then per
 * unbooked charge the same, and payload and mac. Restores what a caller declared, and lets it in; once. A hold that
 * ended before stays ended. A step of control's: a shard that has forgotten it is not opened.
 */
export const admitDeclaredScript = `${names}${guard}${holds}${notes}
local n, refused = guard('project')
if refused then return refused end
local client = ARGV[5]
redis.call('HDEL', P .. 'declared', client)
local known = redis.call('HMGET', CLIENTS, client .. ' n', client .. ' lapsed')
if known[1] or known[2] then return {n, 0} end
local last = 8 + tonumber(ARGV[8]) * 4
for i = 9, last, 4 do
  local id = ARGV[i]
  if redis.call('EXISTS', done_key(id)) == 0 and redis.call('HEXISTS', HOLDS, id) == 0 then
    place_hold(id, client, ARGV[i + 3], '0', '0', ARGV[i + 1], ARGV[i + 2], '-')
  end
end
for i = last + 1, #ARGV, 6 do
  place_note(ARGV[i], ARGV[i + 1], ARGV[i + 2], ARGV[i + 3])
  redis.call('XADD', P .. 'stream', '*', 'p', ARGV[i + 4], 'm', ARGV[i + 5])
end
redis.call('HSET', CLIENTS, client .. ' n', 0, client .. ' until', int(now_ms(ARGV[6]) + tonumber(ARGV[7])))
return {count(), 1}
`;

/**
 * ARGV: number of wallets, their ids, then key hashes. Answers per wallet and then per key: funds, version, held,
 * unbooked, and what its holds and its notes come to.
 */
export const readBooksScript = `${names}
local held, noted = {}, {}
local function add(sums, id, amount) sums[id] = (sums[id] or 0) + tonumber(amount) end
for _, text in ipairs(redis.call('HVALS', HOLDS)) do
  local amount, wallet, key = string.match(text, '^%S+ (%S+) %S+ %S+ (%S+) (%S+)')
  add(held, wallet_key(wallet), amount)
  add(held, key_key(key), amount)
end
for _, text in ipairs(redis.call('HVALS', NOTES)) do
  local wallet, key, amount = string.match(text, '^(%S+) (%S+) (%S+)$')
  add(noted, wallet_key(wallet), amount)
  add(noted, key_key(key), amount)
end
local wallets, found = tonumber(ARGV[1]), {}
for i = 2, #ARGV do
  local name = i <= wallets + 1 and wallet_key(ARGV[i]) or key_key(ARGV[i])
  local f = redis.call('HMGET', name, 'funds', 'ver', 'held', 'unbooked')
  found[i - 1] = {f[1], f[2], f[3] or '0', f[4] or '0', int(held[name] or 0), int(noted[name] or 0)}
end
return found
`;

/** The caller's epoch: money moves from now on. */
export const openEpochScript = `${names}${guard}
local n, refused = guard('project')
if refused then return refused end
redis.call('HSET', KEYS[1], 'open', '1')
return {count()}
`;

/** ARGV: epoch. Ends it: it is known to be older than one that was open. */
export const discardEpochScript = `
if redis.call('HGET', KEYS[1], 'id') ~= ARGV[1] then return 0 end
redis.call('DEL', KEYS[1])
return 1
`;

/** KEYS: the catalog hash. ARGV: version, snapshot. */
export const publishCatalogScript = `
local v = redis.call('HGET', KEYS[1], 'version')
if v and tonumber(v) >= tonumber(ARGV[1]) then return 0 end
redis.call('HSET', KEYS[1], 'version', ARGV[1], 'snapshot', ARGV[2])
return 1
`;

/** KEYS: the penalties hash. ARGV: field, expected value ('' for none), new value, seconds until all are forgotten. */
export const replaceFieldScript = `
local current = redis.call('HGET', KEYS[1], ARGV[1]) or ''
if current ~= ARGV[2] then return current end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[3])
redis.call('EXPIRE', KEYS[1], ARGV[4])
return 1
`;

/**
 * KEYS: an hour of measurements. ARGV: seconds to keep it, how many records it may have, its name if it is new, then
 * fields and records. Beside the hash of records there is the order in which they changed, so that readers need only
 * what is new to them.
 */
export const shareMeasurementsScript = `
local changes = KEYS[1] .. ':changes'
redis.call('HSETNX', KEYS[1], 'begun', ARGV[3])
local count = tonumber(redis.call('HGET', KEYS[1], 'count') or 0)
local records = redis.call('ZCARD', changes)
for at = 4, #ARGV, 2 do
  local isNew = redis.call('HEXISTS', KEYS[1], ARGV[at]) == 0
  if not isNew or records < tonumber(ARGV[2]) then
    if isNew then records = records + 1 end
    count = count + 1
    redis.call('HSET', KEYS[1], ARGV[at], ARGV[at + 1])
    redis.call('ZADD', changes, count, ARGV[at])
  end
end
redis.call('HSET', KEYS[1], 'count', count)
redis.call('EXPIRE', KEYS[1], ARGV[1])
redis.call('EXPIRE', changes, ARGV[1])
return 1
`;

/** KEYS: an hour of measurements. ARGV: its name and the count as the caller knows them, at most so many records. */
export const readMeasurementsScript = `
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
`;
