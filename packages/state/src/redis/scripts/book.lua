-- Stores the funds of a key even before its record, because an older record that arrives later must not undo them.
-- args walletId balance version keys, then per key: keyHash funds version; the number of months; per month: budgetId
-- month spent; the holdIds
-- include guard notes spaceless

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
