import { lateMs } from '../../bounds.ts';
import { batches, budgets, guard, names, notes, records, spaceless } from './parts.ts';

/** Writes from the ledger to a shard, and the ledger's progress in the shard's stream. */

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

/**
 * ARGV from 5: key hash, wallet id, workspace id, version of its preferences, generation, record, funds, funds version, request limit,
 * token limit, ids of budgets, expiry in ms ('' for none), secrets ('' if never rotated). Returns `older` if the state has a newer generation,
 * otherwise `lacking` or `complete`, whether the workspace's record lacks the preferences, and the secrets until now.
 */
export const putKeyScript = `${names}${guard}${records}
local n, refused = guard('project')
if refused then return refused end
local kk, workspace, reply = key_key(ARGV[5]), ARGV[7], 'older'
local k = redis.call('HMGET', kk, 'gen', 'ver', 'ws', 'sec')
if not k[1] or tonumber(k[1]) <= tonumber(ARGV[9]) then
  redis.call('HSET', kk, 'wallet', ARGV[6], 'ws', workspace, 'gen', ARGV[9], 'rec', ARGV[10], 'lreq', ARGV[13], 'ltok', ARGV[14], 'bud', ARGV[15],
    'exp', ARGV[16], 'sec', ARGV[17])
  redis.call('PERSIST', kk)
  if k[3] ~= workspace then
    if k[3] then count_keys(k[3], -1) end
    count_keys(workspace, 1)
  end
  local name = workspace_key(workspace)
  local w = redis.call('HMGET', name, 'ver', 'off')
  local has_preferences = w[2] or redis.call('HEXISTS', name, 'pref') == 1
  reply = has_preferences and w[1] and tonumber(w[1]) >= tonumber(ARGV[8]) and 'complete' or 'lacking'
end
if not k[2] or tonumber(k[2]) < tonumber(ARGV[12]) then
  redis.call('HSET', kk, 'funds', ARGV[11], 'ver', ARGV[12])
end
return {count(), reply, k[4] or ''}
`;

/**
 * ARGV from 5: key hash, generation, 'news' if an older projection may still arrive. The first write is a deletion, so that a key can
 * be revoked in a Redis that is out of memory. Returns whether there was a record, or is one now that refuses older projections.
 */
export const removeKeyScript = `${names}${guard}${records}${spaceless}
local n, refused = guard('project')
if refused then return refused end
local kk, generation = key_key(ARGV[5]), tonumber(ARGV[6])
local k = redis.call('HMGET', kk, 'gen', 'ws')
if not k[1] and ARGV[7] == '' then return {n, 0} end
local behind = generation - tonumber(k[1] or -1)
if behind < 0 or behind == 0 and not k[2] then return {n, 0} end
spaceless()
redis.call('HDEL', kk, 'wallet', 'ws', 'rec', 'lreq', 'ltok', 'bud', 'exp', 'sec')
if k[2] then count_keys(k[2], -1) end
redis.call('HSET', kk, 'gen', ARGV[6])
rest(ARGV[5])
return {count(), 1}
`;

/** ARGV from 5: workspace id, version, preferences ('' if they are unreadable), the oldest version whose tickets are still valid. */
export const putWorkspaceScript = `${names}${guard}
local n, refused = guard('project')
if refused then return refused end
local name = workspace_key(ARGV[5])
local w = redis.call('HMGET', name, 'ver', 'n')
if w[1] and tonumber(w[1]) > tonumber(ARGV[6]) then return {n} end
if tonumber(w[2] or 0) <= 0 then
  redis.call('HSET', name, 'ver', ARGV[6])
  redis.call('PEXPIRE', name, ${lateMs})
elseif ARGV[7] == '' then
  redis.call('HSET', name, 'ver', ARGV[6], 'off', '1', 'since', ARGV[8])
  redis.call('HDEL', name, 'pref')
else
  redis.call('HSET', name, 'ver', ARGV[6], 'pref', ARGV[7], 'since', ARGV[8])
  redis.call('HDEL', name, 'off')
end
return {count()}
`;

/**
 * ARGV from 5: budget id, limit, version, the oldest month to keep, then months and their spending. A newer limit
 * counts everything again that is held and unbooked, so that requests of before the budget count too. Entries of holds and notes
 * that a process of the version without budgets has ended are removed, because their charges count as spent.
 */
export const putBudgetScript = `${names}${guard}${budgets}
local n, refused = guard('project')
if refused then return refused end
local bk = budget_key(ARGV[5])
local v = redis.call('HGET', bk, 'ver')
if redis.call('HLEN', COUNTED) > redis.call('HLEN', HOLDS) + redis.call('HLEN', NOTES) then
  for _, what in ipairs(redis.call('HKEYS', COUNTED)) do
    local kind, id = string.match(what, '^(%a+) (.+)$')
    if redis.call('HEXISTS', kind == 'hold' and HOLDS or NOTES, id) == 0 then uncount(what) end
  end
end
if not v or tonumber(v) < tonumber(ARGV[7]) then
  redis.call('HSET', bk, 'limit', ARGV[6], 'ver', ARGV[7])
  redis.call('PERSIST', bk)
  for _, field in ipairs(redis.call('HKEYS', bk)) do
    if string.sub(field, 1, 5) == 'open ' then redis.call('HDEL', bk, field) end
  end
  for _, text in ipairs(redis.call('HVALS', COUNTED)) do
    local month, amount, ids = string.match(text, '^(%S+) (%S+) (.+)$')
    if string.find(' ' .. ids .. ' ', ' ' .. ARGV[5] .. ' ', 1, true) then redis.call('HINCRBY', bk, 'open ' .. month, amount) end
  end
end
for i = 9, #ARGV, 2 do set_spent(ARGV[5], ARGV[i], ARGV[i + 1]) end
local fields = redis.call('HGETALL', bk)
for i = 1, #fields, 2 do
  local kind, month = string.match(fields[i], '^(%a+) (.+)$')
  if month and month < ARGV[8] and (kind == 'spent' or fields[i + 1] == '0') then redis.call('HDEL', bk, fields[i]) end
end
return {count()}
`;

/** ARGV from 5: budget id, version, 'news' if an older projection may still arrive. The first write is a deletion, as for a key. */
export const removeBudgetScript = `${names}${guard}${budgets}${spaceless}
local n, refused = guard('project')
if refused then return refused end
local bk = budget_key(ARGV[5])
local b = redis.call('HMGET', bk, 'ver', 'limit')
if not b[1] and ARGV[7] == '' then return {n} end
local behind = tonumber(ARGV[6]) - tonumber(b[1] or -1)
if behind < 0 or behind == 0 and not b[2] then return {n} end
spaceless()
redis.call('DEL', bk)
redis.call('HSET', bk, 'ver', ARGV[6])
redis.call('PEXPIRE', bk, ${lateMs})
return {count()}
`;

/**
 * ARGV from 5: wallet id, balance, version, number of keys, then per key: hash, funds, version; then the number of budgets' months,
 * per month: budget id, month, spent; then the hold ids.
 * Stores the funds of a key even before its record, because an older record that arrives later must not undo them.
 */
export const bookScript = `${names}${guard}${budgets}${records}${notes}${spaceless}
local n, refused = guard('project')
if refused then return refused end
spaceless()
local function newer(key, version)
  local v = redis.call('HGET', key, 'ver')
  return not v or tonumber(v) < tonumber(version)
end
local keys = tonumber(ARGV[8])
local months = 9 + keys * 3
local ids = months + 1 + tonumber(ARGV[months]) * 3
drop_notes(ARGV, ids)
local wk = wallet_key(ARGV[5])
if newer(wk, ARGV[7]) then redis.call('HSET', wk, 'funds', ARGV[6], 'ver', ARGV[7]) end
for i = 0, keys - 1 do
  local hash, funds, version = ARGV[9 + i * 3], ARGV[10 + i * 3], ARGV[11 + i * 3]
  local kk = key_key(hash)
  if newer(kk, version) then
    redis.call('HSET', kk, 'funds', funds, 'ver', version)
    rest(hash)
  end
end
for i = months + 1, ids - 1, 3 do set_spent(ARGV[i], ARGV[i + 1], ARGV[i + 2]) end
return {count()}
`;

/**
 * ARGV from 5: note id, wallet id, amount, the balance in the ledger, 'alone' or ''. Notes money that is about to leave a wallet without a
 * request, so that no request spends it meanwhile. With 'alone', the script refuses if anything else is held or unbooked. `book` or
 * `forget` ends the note. The note counts at the key `-`, which no projection has. Scripts of other versions drop it like any other note.
 */
export const reserveScript = `${names}${guard}${budgets}${records}${notes}
local n, refused, epoch = guard('admit')
if refused then return refused end
local w = redis.call('HMGET', wallet_key(ARGV[6]), 'funds', 'held', 'unbooked')
if not w[1] then return {n, 'not_projected', 0} end
local taken = tonumber(w[2] or 0) + tonumber(w[3] or 0)
if ARGV[9] == 'alone' and taken > 0 then return {n, 'busy', 0} end
if math.min(tonumber(w[1]), tonumber(ARGV[8])) - taken < tonumber(ARGV[7]) then return {n, 'insufficient', 0} end
place_note(ARGV[5], ARGV[6], '-', ARGV[7])
return {count(), 'reserved', tonumber(epoch)}
`;

/** ARGV from 5: the hold ids. */
export const forgetScript = `${names}${guard}${budgets}${records}${notes}${spaceless}
local n, refused = guard('project')
if refused then return refused end
spaceless()
drop_notes(ARGV, 5)
return {count()}
`;

/** Guarded, so that a broker whose settlement was lost does not see a watermark beyond its place. */
export const watermarkScript = `${names}${guard}
local n, refused, epoch = guard('settle')
if refused then return refused end
return {n, redis.call('GET', P .. 'watermark') or '0-0', tonumber(epoch)}
`;

/**
 * ARGV: '', then requests as in `batches`, each with: the id before the first, and how many at most. Reading settlements is a step that
 * counts: see `takeSettlements`.
 */
export const takeSettlementsScript = `${names}${guard}${batches}${spaceless}
return each_request('project', 2, function(at)
  local found = redis.call('XRANGE', P .. 'stream', '(' .. ARGV[at], '+', 'COUNT', ARGV[at + 1])
  if #found > 0 then spaceless() end
  return found, #found > 0
end)
`;

/** ARGV from 5: stream id. Moves the watermark forward and trims the stream behind it. */
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
