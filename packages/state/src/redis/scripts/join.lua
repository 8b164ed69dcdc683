-- Renews the lease of a member. Admits a caller without a declaration. Stores other declarations until control has
-- restored them. The payload is '' for nothing to declare and '-' for a renewal. The first write is a deletion, which
-- works in a Redis that is out of memory, so that leases do not lapse there. Announces who is new, once. ARGV[1] is now.
-- args leaseMs payload mac
-- include batches

local now = now_ms(ARGV[1])
return each_request('join', 3, function(at, client, _, open, is_in)
  if not is_in and ARGV[at + 1] == '-' then error('a renewal beside a declaration') end
  if not is_in and ARGV[at + 1] ~= '' then
    local is_new = redis.call('HSET', P .. 'declared', client, ARGV[at + 2] .. ' ' .. ARGV[at + 1]) == 1
    if is_new then redis.pcall('PUBLISH', JOINED_CHANNEL, '') end
    return {'declared', open, 0}
  end
  local lease_until = int(now + tonumber(ARGV[at]))
  redis.call('HDEL', CLIENTS, client .. ' suspect')
  redis.call('HSET', CLIENTS, client .. ' until', lease_until)
  if not is_in then
    redis.call('HSET', CLIENTS, client .. ' n', 0)
    redis.pcall('PUBLISH', JOINED_CHANNEL, '')
  end
  return {'joined', open, lease_until}
end, function(at, epoch, is_in)
  if ARGV[at + 6] == '-' and not is_in then return {'refused', 'not_joined', tonumber(epoch)} end
end)
