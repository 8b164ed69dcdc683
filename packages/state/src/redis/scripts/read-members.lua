-- Returns for each shard of KEYS: its epoch, '1' if it is open, the clients' fields, and the declarations.
-- include each-shard

return each_shard(function()
  local e = redis.call('HMGET', EPOCH, 'id', 'open')
  return {e[1], e[2], redis.call('HKEYS', CLIENTS), redis.call('HGETALL', P .. 'declared')}
end)
