-- Preferences are '' if they are unreadable. Tickets of versions since `ticketsSince` are still valid.
-- args workspaceId version preferences ticketsSince
-- include guard

local n, refused = guard('project')
if refused then return refused end
local name = workspace_key(ARGV[5])
local w = redis.call('HMGET', name, 'ver', 'n')
if w[1] and tonumber(w[1]) > tonumber(ARGV[6]) then return {n} end
if tonumber(w[2] or 0) <= 0 then
  redis.call('HSET', name, 'ver', ARGV[6])
  redis.call('PEXPIRE', name, LATE_MS)
elseif ARGV[7] == '' then
  redis.call('HSET', name, 'ver', ARGV[6], 'off', '1', 'since', ARGV[8])
  redis.call('HDEL', name, 'pref')
else
  redis.call('HSET', name, 'ver', ARGV[6], 'pref', ARGV[7], 'since', ARGV[8])
  redis.call('HDEL', name, 'off')
end
return {count()}
