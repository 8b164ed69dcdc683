-- A lapsed lease is first suspect, and reaped only if it is not renewed within the grace period. After a pause of
-- Redis or a forward step of its clock, all members are late at once. Returns for each shard the number of released
-- holds. The first write is a deletion, as in `join`. ARGV[1] is now.
-- args graceMs
-- include each-shard release-abandoned

local now = now_ms(ARGV[1])
return each_shard(function(grace_ms)
  if redis.call('HGET', EPOCH, 'open') ~= '1' then return 0 end
  redis.call('HDEL', CLIENTS, 'none')
  local alive, reaped = {}, false
  for client, f in pairs(read_clients()) do
    if f.lapsed then
      if now - f.lapsed > 86400000 then redis.call('HDEL', CLIENTS, client .. ' lapsed') end
    elseif (f['until'] or 0) > now then
      alive[client] = true
    else
      -- A suspicion in the future means that the clock was set back.
      if not f.suspect or f.suspect > now then
        f.suspect = now
        redis.call('HSET', CLIENTS, client .. ' suspect', int(now))
      end
      if now - f.suspect < tonumber(grace_ms) then
        alive[client] = true
      else
        reaped = true
        lapse(client, now)
      end
    end
  end
  return reaped and release_abandoned(alive) or 0
end)
