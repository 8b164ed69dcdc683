import { guard, holds, names, releaseAbandoned } from './parts.ts';

/** Who is there, by leases; and what becomes of the holds of who is not. */

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
