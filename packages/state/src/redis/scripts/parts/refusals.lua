-- Counts of refused requests. Each hour since 1970 has a hash of counts by `epoch key kind`. A count only rises, so a
-- reader that stores the largest that it saw counts nothing twice. An epoch begins with new counts, because the shard
-- may have lost some. Redis may refuse to count, such as when it is out of memory: the request is refused all the same.
-- A count is no step of a member.
-- include names

local function hour_of(now) return math.floor(now / 3600000) end
local function refusals_key(hour) return P .. 'refusals:' .. int(hour) end
local function count_refusal(now, epoch, key, kind)
  local name = refusals_key(hour_of(now))
  if redis.pcall('HINCRBY', name, epoch .. ' ' .. key .. ' ' .. kind, 1) == 1 then redis.pcall('PEXPIRE', name, REFUSALS_MS) end
end
