-- Returns `older` if the state has a newer generation, otherwise `lacking` or `complete`, whether the workspace's
-- record lacks the preferences, and the secrets until now. `expiresAt` is '' for none, `secrets` '' if never rotated.
-- args keyHash walletId workspaceId workspaceVersion generation record funds fundsVersion limitRequests limitTokens
-- budgetIds expiresAt secrets countsRefusals
-- include guard records

local n, refused = guard('project')
if refused then return refused end
local kk, workspace, reply = key_key(ARGV[5]), ARGV[7], 'older'
local k = redis.call('HMGET', kk, 'gen', 'ver', 'ws', 'sec')
if not k[1] or tonumber(k[1]) <= tonumber(ARGV[9]) then
  redis.call('HSET', kk, 'wallet', ARGV[6], 'ws', workspace, 'gen', ARGV[9], 'rec', ARGV[10], 'lreq', ARGV[13], 'ltok', ARGV[14], 'bud', ARGV[15],
    'exp', ARGV[16], 'sec', ARGV[17], 'cnt', ARGV[18])
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
