import { budgets, guard, holds, names, notes, records } from './parts.ts';

/** The rebuild of a shard after a loss: restore declarations, compare the books, and open the epoch. */

/**
 * ARGV: epoch. Begins an epoch if there is none. Removes remaining holds and notes, because they may be outdated; their owners
 * declare them again. Tickets of older epochs stay invalid.
 */
export const beginEpochScript = `${names}${budgets}${records}${holds}${notes}
if redis.call('EXISTS', KEYS[1]) == 1 then return 0 end
for _, id in ipairs(redis.call('HKEYS', HOLDS)) do release(id) end
drop_notes(redis.call('HKEYS', NOTES), 1)
for _, what in ipairs(redis.call('HKEYS', COUNTED)) do uncount(what) end
redis.call('DEL', CLIENTS, P .. 'declared')
redis.call('HSET', KEYS[1], 'id', ARGV[1], 'open', '0')
return 1
`;

/**
 * ARGV from 5: client, now, lease ttl ms, number of holds, then per hold: id, wallet id, key hash, amount, month, ids of budgets; then
 * per unbooked charge the same, and payload and mac. Restores a caller's declaration and admits the caller, once. A hold that has ended stays ended. This is a step of control, so a shard that forgot it is not opened.
 */
export const admitDeclaredScript = `${names}${guard}${budgets}${records}${holds}${notes}
local n, refused = guard('project')
if refused then return refused end
local client = ARGV[5]
redis.call('HDEL', P .. 'declared', client)
local known = redis.call('HMGET', CLIENTS, client .. ' n', client .. ' lapsed')
if known[1] or known[2] then return {n, 0} end
local last = 8 + tonumber(ARGV[8]) * 6
for i = 9, last, 6 do
  local id = ARGV[i]
  if redis.call('EXISTS', done_key(id)) == 0 and redis.call('HEXISTS', HOLDS, id) == 0 then
    uncount('hold ' .. id)
    place_hold(id, client, ARGV[i + 3], '0', '0', ARGV[i + 1], ARGV[i + 2], '-', ARGV[i + 4], ARGV[i + 5])
  end
end
for i = last + 1, #ARGV, 8 do
  place_note(ARGV[i], ARGV[i + 1], ARGV[i + 2], ARGV[i + 3], ARGV[i + 4], ARGV[i + 5])
  redis.call('XADD', P .. 'stream', '*', 'p', ARGV[i + 6], 'm', ARGV[i + 7])
end
redis.call('HSET', CLIENTS, client .. ' n', 0, client .. ' until', int(now_ms(ARGV[6]) + tonumber(ARGV[7])))
return {count(), 1}
`;

/**
 * ARGV: numbers of wallets and of keys, their ids, then ids of budgets. Returns per wallet and then per key: funds, version, held,
 * unbooked, and the sums of its holds and of its notes. Returns per budget: limit, version, then per month: its name, spent, open,
 * and the sum of what counts in it.
 */
export const readBooksScript = `${names}${budgets}
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
local wallets, keys, found = tonumber(ARGV[1]), tonumber(ARGV[2]), {}
for i = 3, 2 + wallets + keys do
  local name = i <= wallets + 2 and wallet_key(ARGV[i]) or key_key(ARGV[i])
  local f = redis.call('HMGET', name, 'funds', 'ver', 'held', 'unbooked')
  found[i - 2] = {f[1], f[2], f[3] or '0', f[4] or '0', int(held[name] or 0), int(noted[name] or 0)}
end
if #ARGV == 2 + wallets + keys then return found end
local counted = {}
for _, text in ipairs(redis.call('HVALS', COUNTED)) do
  local month, amount, ids = string.match(text, '^(%S+) (%S+) (.+)$')
  for id in string.gmatch(ids, '%S+') do
    counted[id] = counted[id] or {}
    add(counted[id], month, amount)
  end
end
for i = 3 + wallets + keys, #ARGV do
  local fields, months, b = redis.call('HGETALL', budget_key(ARGV[i])), {}, {}
  for at = 1, #fields, 2 do
    b[fields[at]] = fields[at + 1]
    local month = string.match(fields[at], ' (.+)$')
    if month then months[month] = true end
  end
  for month in pairs(counted[ARGV[i]] or {}) do months[month] = true end
  local row = {b.limit or '', b.ver or ''}
  for month in pairs(months) do
    row[#row + 1] = month
    row[#row + 1] = b['spent ' .. month] or '0'
    row[#row + 1] = b['open ' .. month] or '0'
    row[#row + 1] = int((counted[ARGV[i]] or {})[month] or 0)
  end
  found[#found + 1] = row
end
return found
`;

/** Opens the caller's epoch. From now on, money moves. */
export const openEpochScript = `${names}${guard}
local n, refused = guard('project')
if refused then return refused end
redis.call('HSET', KEYS[1], 'open', '1')
return {count()}
`;

/** ARGV: epoch. Ends an epoch that is older than one that was open. */
export const discardEpochScript = `
if redis.call('HGET', KEYS[1], 'id') ~= ARGV[1] then return 0 end
redis.call('DEL', KEYS[1])
return 1
`;
