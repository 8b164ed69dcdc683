-- Closes an unknown hold too, because its redeem may arrive later. A reaped hold is noted with its former wallet. The
-- payload is '' if there is nothing to book. Replies with the entry in the stream, or '' for none. Announces the
-- first entry of a stream. Without the right to do so it settles all the same. ARGV[1] is the time for which an ended
-- hold is remembered, in ms.
-- args holdId charge usedTokens payload mac
-- include batches notes

local closed_ms, looked = ARGV[1], {}
return each_request('settle', 5, function(at)
  local id, charge, payload = ARGV[at], ARGV[at + 1], ARGV[at + 3]
  local text = redis.call('HGET', HOLDS, id)
  if text then
    local amount, tokens, window, wallet, key, month, budgets =
      string.match(text, '^%S+ (%S+) (%S+) (%S+) (%S+) (%S+) %S+ (%S+) (.*)$')
    redis.call('HDEL', HOLDS, id)
    if amount ~= '0' then try('HINCRBY', wallet_key(wallet), 'held', '-' .. amount) end
    local is_noted = charge ~= '0' and write_note(id, wallet, key, charge, month, budgets)
    if is_noted then try('HINCRBY', wallet_key(wallet), 'unbooked', charge) end
    add_open(month, int((is_noted and tonumber(charge) or 0) - tonumber(amount)), budgets)
    local k = try('HMGET', key_key(key), 'held', 'unbooked', 'w', 't', 'ws')
    local used = tonumber(k[4] or 0)
    if k[3] == window then used = math.max(0, used - tonumber(tokens) + tonumber(ARGV[at + 2])) end
    if k[5] then
      local unbooked = is_noted and int(tonumber(k[2] or 0) + tonumber(charge)) or k[2] or '0'
      redis.call('HSET', key_key(key), 'held', int(tonumber(k[1] or 0) - tonumber(amount)), 'unbooked', unbooked, 't', int(used))
    elseif not k.err then
      -- The key was removed. Its record may have gone with its last amount.
      if amount ~= '0' then redis.call('HINCRBY', key_key(key), 'held', '-' .. amount) end
      if is_noted then redis.call('HINCRBY', key_key(key), 'unbooked', charge) end
      if k[3] == window then redis.call('HSET', key_key(key), 't', int(used)) end
      rest(key)
    end
    raise()
  else
    local reaped = redis.call('GET', reaped_key(id))
    if reaped then
      redis.call('DEL', reaped_key(id))
      local wallet, key, month, budgets = string.match(reaped, '^(%S+) (%S+) (%S+) (.*)$')
      place_note(id, wallet, key, charge, month, budgets)
    end
  end
  redis.call('SET', done_key(id), 'settled', 'PX', closed_ms, 'NX')
  if payload == '' then return '', true end
  local stream = P .. 'stream'
  local place = redis.call('XADD', stream, '*', 'p', payload, 'm', ARGV[at + 4])
  if not looked[stream] then
    looked[stream] = true
    if redis.pcall('XLEN', stream) == 1 then redis.pcall('PUBLISH', SETTLED_CHANNEL, '') end
  end
  return place, true
end)
