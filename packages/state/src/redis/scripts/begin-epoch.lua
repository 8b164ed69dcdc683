-- Begins an epoch if there is none. Removes remaining holds and notes, because they may be outdated; their owners
-- declare them again. Tickets of older epochs stay invalid.
-- args epoch
-- include holds notes

if redis.call('EXISTS', KEYS[1]) == 1 then return 0 end
for _, id in ipairs(redis.call('HKEYS', HOLDS)) do release(id) end
drop_notes(redis.call('HKEYS', NOTES), 1)
-- Without holds and notes, nothing is open.
for _, id in ipairs(redis.call('HKEYS', LIMITS)) do
  local fields = redis.pcall('HKEYS', budget_key(id))
  for _, field in ipairs(fields.err and {} or fields) do
    if string.sub(field, 1, 5) == 'open ' then redis.call('HDEL', budget_key(id), field) end
  end
end
redis.call('DEL', CLIENTS, P .. 'declared')
redis.call('HSET', KEYS[1], 'id', ARGV[1], 'open', '0')
return 1
