-- Notes of unbooked charges: `wallet key amount` by hold id. A wallet or key with many of them is written once. A
-- damaged one fails the script only when all others are written, because a repeated call no longer finds the notes.
-- include budgets records

local function drop_notes(ids, from)
  local sums, keys, dropped = {}, {}, {}
  local function add(name, amount) sums[name] = (sums[name] or 0) + tonumber(amount) end
  for i = from, #ids do
    local wallet, key, amount = string.match(redis.call('HGET', NOTES, ids[i]) or '', '^(%S+) (%S+) (%d+)$')
    if wallet then
      redis.call('HDEL', NOTES, ids[i])
      dropped[#dropped + 1] = ids[i]
      add(wallet_key(wallet), amount)
      add(key_key(key), amount)
      keys[key] = true
    end
  end
  local failure
  for name, sum in pairs(sums) do
    local written = redis.pcall('HINCRBY', name, 'unbooked', int(-sum))
    if type(written) == 'table' and written.err then failure = written.err end
  end
  for key in pairs(keys) do
    local is_done, err = pcall(rest, key)
    if not is_done then failure = type(err) == 'table' and err.err or err end
  end
  for _, id in ipairs(dropped) do uncount('note ' .. id) end
  if failure then error(failure) end
end
local function place_note(id, wallet, key, amount, month, ids)
  if amount == '0' or redis.call('HSETNX', NOTES, id, wallet .. ' ' .. key .. ' ' .. amount) == 0 then return end
  redis.call('HINCRBY', wallet_key(wallet), 'unbooked', amount)
  redis.call('HINCRBY', key_key(key), 'unbooked', amount)
  rest(key)
  count_in('note ' .. id, month, amount, ids)
end
