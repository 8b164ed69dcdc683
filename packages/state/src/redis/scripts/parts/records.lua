-- Records of keys and workspaces. A key's record has `wallet` and `ws`, which names its workspace's record, while
-- requests may use the key. Without them it was removed, or has not come yet. Then it only has `gen`, and amounts, and
-- expires with the last of its holds and notes. A workspace's record has the version `ver` of its preferences `pref`,
-- the oldest version `since` whose tickets are still valid, `n` keys that name it, and `off` if the preferences are
-- unreadable. Without keys it only has `ver`, and expires. Whatever expires is kept for longer than a projection can be
-- late, because an older one that arrives later must not bring back what was removed.
--
-- `generation_of` returns a key's generation, which changes with the preferences, too, and whether a ticket of another
-- generation is still valid. Nil: the preferences are missing, or unreadable. `shown` is what brokers see of a
-- generation.
-- include names

local function rest(key)
  local k = try('HMGET', key_key(key), 'wallet', 'held', 'unbooked')
  if k.err or k[1] then return end
  if tonumber(k[2] or 0) == 0 and tonumber(k[3] or 0) == 0 then
    redis.call('PEXPIRE', key_key(key), LATE_MS)
  else
    redis.call('PERSIST', key_key(key))
  end
end
local function count_keys(workspace, by)
  local name = workspace_key(workspace)
  if redis.call('HINCRBY', name, 'n', by) > 0 then
    redis.call('PERSIST', name)
  else
    redis.call('HDEL', name, 'pref', 'off')
    redis.call('PEXPIRE', name, LATE_MS)
  end
end
local function generation_of(gen, workspace)
  local w = redis.call('HMGET', workspace_key(workspace), 'ver', 'off', 'since')
  if not w[1] or w[2] then return nil, w[2] end
  local function is_valid(ticket)
    local of_key, version = string.match(ticket or '', '^(%d+)%.(%d+)$')
    return of_key == gen and tonumber(version) >= tonumber(w[3] or w[1]) and tonumber(version) <= tonumber(w[1])
  end
  return gen .. '.' .. w[1], nil, is_valid
end
local function shown(wallet, key, generation) return redis.sha1hex(wallet .. ' ' .. key .. ' ' .. generation) end
