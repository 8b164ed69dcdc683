-- Restores a caller's declaration and admits the caller, once. A hold that has ended stays ended. This is a step of
-- control, so a shard that forgot it is not opened.
-- args client now leaseMs holds, then per hold: holdId walletId keyHash amount month budgetIds; per unbooked charge
-- the same, payload and mac
-- include guard holds notes

local n, refused = guard('project')
if refused then return refused end
local client = ARGV[5]
redis.call('HDEL', P .. 'declared', client)
local known = redis.call('HMGET', CLIENTS, client .. ' n', client .. ' lapsed')
if known[1] or known[2] then return {n, 0} end
local last = 8 + tonumber(ARGV[8]) * 6
for i = 9, last, 6 do
  local id = ARGV[i]
  if redis.call('EXISTS', done_key(id)) == 0 and redis.call('HEXISTS', HOLDS, id) == 0 then
    place_hold(id, client, ARGV[i + 3], '0', '0', ARGV[i + 1], ARGV[i + 2], '-', ARGV[i + 4], ARGV[i + 5])
  end
end
for i = last + 1, #ARGV, 8 do
  place_note(ARGV[i], ARGV[i + 1], ARGV[i + 2], ARGV[i + 3], ARGV[i + 4], ARGV[i + 5])
  redis.call('XADD', P .. 'stream', '*', 'p', ARGV[i + 6], 'm', ARGV[i + 7])
end
redis.call('HSET', CLIENTS, client .. ' n', 0, client .. ' until', int(now_ms(ARGV[6]) + tonumber(ARGV[7])))
return {count(), 1}
