-- Reads the settlements after `afterId`, at most `limit`. Reading settlements is a step that counts: see
-- `takeSettlements`.
-- args afterId limit
-- include batches spaceless

return each_request('project', 2, function(at)
  local found = redis.call('XRANGE', P .. 'stream', '(' .. ARGV[at], '+', 'COUNT', ARGV[at + 1])
  if #found > 0 then spaceless() end
  return found, #found > 0
end)
