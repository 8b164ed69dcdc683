import { guard, holds, names, notes } from './parts.ts';

/** How a shard begins anew after a loss: what is declared is restored, compared with its books, and opened. */

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
