-- Returns the ids of a client's holds, without their owners and without other clients' holds.
-- args client
-- include names

local own, found = ARGV[1] .. ' ', {}
for _, id in ipairs(redis.call('HKEYS', HOLDS)) do
  if string.sub(redis.call('HGET', HOLDS, id), 1, #own) == own then found[#found + 1] = id end
end
return found
