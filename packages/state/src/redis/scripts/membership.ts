import { batches, budgets, eachShard, guard, holds, names, records, releaseAbandoned } from './parts.ts';

/** The members by their leases, and the holds of former members. */

/**
 * ARGV: now, then requests as in `batches`, each with: lease ttl ms, declaration ('' for nothing to declare, '-' for a renewal), mac.
 * Renews the lease of a member. Admits a caller without a declaration. Stores other declarations until control has restored them. The
 * first write is a deletion, which works in a Redis that is out of memory, so that leases do not lapse there.
 */
export const joinScript = `${names}${guard}${batches}
local now = now_ms(ARGV[1])
local function is_member(client) return redis.call('HEXISTS', CLIENTS, client .. ' n') == 1 end
return each_request('join', 3, function(at, client)
  local open = redis.call('HGET', EPOCH, 'open') == '1' and 1 or 0
  local is_in = is_member(client)
  if not is_in and ARGV[at + 1] == '-' then error('a renewal beside a declaration') end
  if not is_in and ARGV[at + 1] ~= '' then
    redis.call('HSET', P .. 'declared', client, ARGV[at + 2] .. ' ' .. ARGV[at + 1])
    return {'declared', open, 0}
  end
  local lease_until = int(now + tonumber(ARGV[at]))
  redis.call('HDEL', CLIENTS, client .. ' suspect')
  redis.call('HSET', CLIENTS, client .. ' until', lease_until)
  if not is_in then redis.call('HSET', CLIENTS, client .. ' n', 0) end
  return {'joined', open, lease_until}
end, function(at, epoch)
  if ARGV[at + 6] == '-' and not is_member(ARGV[at]) then return {'refused', 'not_joined', tonumber(epoch)} end
end)
`;

/** Returns for each shard of KEYS: its epoch, '1' if it is open, the clients' fields, and the declarations. */
export const readMembersScript = `${names}${eachShard}
return each_shard(function()
  local e = redis.call('HMGET', EPOCH, 'id', 'open')
  return {e[1], e[2], redis.call('HKEYS', CLIENTS), redis.call('HGETALL', P .. 'declared')}
end)
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
 * ARGV: now, then for each shard of KEYS: grace ms. A lapsed lease is first suspect, and reaped only if it is not renewed within the
 * grace period. After a pause of Redis or a forward step of its clock, all members are late at once. Returns for each shard the number
 * of released holds. The first write is a deletion, as in `join`.
 */
export const reapScript = `${names}${eachShard}${budgets}${records}${holds}${releaseAbandoned}
local now = now_ms(ARGV[1])
return each_shard(function(grace_ms)
  if redis.call('HGET', EPOCH, 'open') ~= '1' then return 0 end
  redis.call('HDEL', CLIENTS, 'none')
  local alive, reaped = {}, false
  for client, f in pairs(read_clients()) do
    if f.lapsed then
      if now - f.lapsed > 86400000 then redis.call('HDEL', CLIENTS, client .. ' lapsed') end
    elseif (f['until'] or 0) > now then
      alive[client] = true
    else
      -- A suspicion in the future means that the clock was set back.
      if not f.suspect or f.suspect > now then
        f.suspect = now
        redis.call('HSET', CLIENTS, client .. ' suspect', int(now))
      end
      if now - f.suspect < tonumber(grace_ms) then
        alive[client] = true
      else
        reaped = true
        lapse(client, now)
      end
    end
  end
  return reaped and release_abandoned(alive) or 0
end)
`;
