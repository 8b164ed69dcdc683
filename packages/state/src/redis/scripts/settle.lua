-- Closes an unknown hold too, because its redeem may arrive later. A reaped hold is noted with its former wallet. The
-- payload is '' if there is nothing to book. Replies with the entry in the stream, or '' for none. Announces the
-- first entry of a stream. Without the right to do so it settles all the same. ARGV[1] is the time for which an ended
-- hold is remembered, in ms.
-- args holdId charge usedTokens payload mac
-- include batches notes

local closed_ms = ARGV[1]
return each_request('settle', 5, function(at)
  local id, charge, payload = ARGV[at], ARGV[at + 1], ARGV[at + 3]
  local text = redis.call('HGET', HOLDS, id)
  if text then
    local amount, tokens, window, wallet, key = string.match(text, '^%S+ (%S+) (%S+) (%S+) (%S+) (%S+)')
    redis.call('HDEL', HOLDS, id)
    if amount ~= '0' then redis.call('HINCRBY', wallet_key(wallet), 'held', '-' .. amount) end
    local is_noted = charge ~= '0' and redis.call('HSETNX', NOTES, id, wallet .. ' ' .. key .. ' ' .. charge) == 1
    if is_noted then redis.call('HINCRBY', wallet_key(wallet), 'unbooked', charge) end
    local k = redis.call('HMGET', key_key(key), 'held', 'unbooked', 'w', 't', 'ws')
    local unbooked = is_noted and int(tonumber(k[2] or 0) + tonumber(charge)) or k[2] or '0'
    local used = tonumber(k[4] or 0)
    if k[3] == window then used = math.max(0, used - tonumber(tokens) + tonumber(ARGV[at + 2])) end
    if k[5] then
      redis.call('HSET', key_key(key), 'held', int(tonumber(k[1] or 0) - tonumber(amount)), 'unbooked', unbooked, 't', int(used))
    else
      -- The key was removed. Its record may have gone with its last amount.
      if amount ~= '0' then redis.call('HINCRBY', key_key(key), 'held', '-' .. amount) end
      if is_noted then redis.call('HINCRBY', key_key(key), 'unbooked', charge) end
      if k[3] == window then redis.call('HSET', key_key(key), 't', int(used)) end
      rest(key)
    end
    local month, ids = uncount('hold ' .. id)
    if is_noted then count_in('note ' .. id, month, charge, ids) end
  else
    local reaped = redis.call('GET', reaped_key(id))
    if reaped then
      local month, ids = string.match(redis.call('GET', reaped_budgets_key(id)) or '', '^(%S+) (.+)$')
      redis.call('DEL', reaped_key(id), reaped_budgets_key(id))
      local wallet, key = string.match(reaped, '^(%S+) (%S+)$')
      place_note(id, wallet, key, charge, month, ids)
    end
  end
  redis.call('SET', done_key(id), 'settled', 'PX', closed_ms, 'NX')
  if payload == '' then return '', true end
  local place = redis.call('XADD', P .. 'stream', '*', 'p', payload, 'm', ARGV[at + 4])
  if redis.pcall('XLEN', P .. 'stream') == 1 then redis.pcall('PUBLISH', SETTLED_CHANNEL, '') end
  return place, true
end)
