-- Releases the holds of former members. They can still be settled. A damaged one fails the script only when all others
-- are released, because a repeated call no longer finds a member that has just lapsed.
-- include holds

local function release_abandoned(alive)
  local released, failure = 0, nil
  for _, id in ipairs(redis.call('HKEYS', HOLDS)) do
    if not alive[read_hold(id).client] then
      local is_released, h = pcall(release, id)
      if is_released then
        redis.call('SET', reaped_key(id), table.concat({h.wallet, h.key, h.month, h.budgets}, ' '), 'PX', 86400000)
        released = released + 1
      else
        failure = h
      end
    end
  end
  if failure then error(failure) end
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
