import { guard, names, notes, spaceless } from './parts.ts';

/** What the ledger tells a shard, and how far it has come with what the shard told it. */

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

/** ARGV from 5: the hold ids. */
export const forgetScript = `${names}${guard}${notes}${spaceless}
local n, refused = guard('project')
if refused then return refused end
spaceless()
for i = 5, #ARGV do drop_note(ARGV[i]) end
return {count()}
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
