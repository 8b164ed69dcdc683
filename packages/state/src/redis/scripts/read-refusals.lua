-- Returns for each shard of KEYS: the present hour, and each hour from the asked one on with its counts.
-- args fromHour
-- include each-shard refusals

return each_shard(function(from)
  local hour = hour_of(now_ms(ARGV[1]))
  local found = {int(hour)}
  for each = math.max(tonumber(from), hour - 26), hour do
    local counts = redis.call('HGETALL', refusals_key(each))
    if #counts > 0 then found[#found + 1] = {int(each), counts} end
  end
  return found
end)
