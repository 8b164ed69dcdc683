-- Renews the lease of a member. Admits a caller without a declaration. Stores other declarations until control has
-- restored them. The payload is '' for nothing to declare and '-' for a renewal. The first write is a deletion, which
-- works in a Redis that is out of memory, so that leases do not lapse there. ARGV[1] is now.
-- args leaseMs payload mac
-- include batches

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
