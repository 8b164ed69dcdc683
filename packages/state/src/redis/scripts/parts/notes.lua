-- Notes of unbooked charges: `wallet key amount month budgets` by hold id. A note that counts in no budget has `-` for
-- the month. Ids may repeat. A wallet, key or budget with many of them is written once. A damaged one fails the script
-- only when all others are written, because a repeated call no longer finds the notes.
-- include budgets records

-- Lua passes a call at most some thousand arguments.
local AT_ONCE = 1000

local function drop_notes(ids, from)
  local sums, keys, opened, seen = {}, {}, {}, {}
  local function add(to, name, amount) to[name] = (to[name] or 0) + tonumber(amount) end
  for first = from, #ids, AT_ONCE do
    local last, dropped = math.min(#ids, first + AT_ONCE - 1), {}
    local texts = redis.call('HMGET', NOTES, unpack(ids, first, last))
    for i, text in ipairs(texts) do
      local wallet, key, amount, month, budgets = string.match(text or '', '^(%S+) (%S+) (%d+) (%S+) (.*)$')
      local id = ids[first + i - 1]
      if wallet and not seen[id] then
        seen[id] = true
        dropped[#dropped + 1] = id
        add(sums, wallet_key(wallet), amount)
        add(sums, key_key(key), amount)
        add(opened, month .. ' ' .. budgets, amount)
        keys[key] = true
      end
    end
    if #dropped > 0 then redis.call('HDEL', NOTES, unpack(dropped)) end
  end
  for name, sum in pairs(sums) do try('HINCRBY', name, 'unbooked', int(-sum)) end
  for key in pairs(keys) do rest(key) end
  for counted, sum in pairs(opened) do
    local month, budgets = string.match(counted, '^(%S+) (.*)$')
    add_open(month, int(-sum), budgets)
  end
  raise()
end
local function write_note(id, wallet, key, amount, month, budgets)
  return try('HSETNX', NOTES, id, table.concat({wallet, key, amount, month or '-', budgets or ''}, ' ')) == 1
end
local function place_note(id, wallet, key, amount, month, budgets)
  if amount ~= '0' and write_note(id, wallet, key, amount, month, budgets) then
    try('HINCRBY', wallet_key(wallet), 'unbooked', amount)
    try('HINCRBY', key_key(key), 'unbooked', amount)
    add_open(month, amount, budgets)
    rest(key)
  end
  raise()
end
