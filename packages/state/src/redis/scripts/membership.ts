import { budgets, guard, holds, names, records, releaseAbandoned } from './parts.ts';

/** The members by their leases, and the holds of former members. */

/**
 * ARGV from 5: now, lease ttl ms, declaration ('' for nothing to declare, '-' for a renewal), mac. Renews the lease
 * of a member. Admits a caller without a declaration. Stores other declarations until control has restored them. The first write is
 * a deletion, which works in a Redis that is out of memory, so that leases do not lapse there.
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

/** ARGV from 5: now. Removes a caller that leaves, so that rebuilds do not wait for it. */
export const leaveScript = `${names}${guard}${budgets}${records}${holds}${releaseAbandoned}
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
 * ARGV: now, grace ms. A lapsed lease is first suspect, and reaped only if it is not renewed within the grace period. After a pause
 * of Redis or a forward step of its clock, all members are late at once. Returns the number of released holds. The first write is a
 * deletion, as in `join`.
 */
export const reapScript = `${names}${budgets}${records}${holds}${releaseAbandoned}
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
    -- A suspicion in the future means that the clock was set back.
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
