-- Returns per wallet and then per key: funds, version, held, unbooked, and the sums of its holds and of its notes.
-- Returns per budget: limit, version, then per month: its name, spent, open, and the sum of what counts in it.
-- args wallets keys, then walletIds keyHashes budgetIds
-- include budgets

local held, noted = {}, {}
local function add(sums, id, amount) sums[id] = (sums[id] or 0) + tonumber(amount) end
for _, text in ipairs(redis.call('HVALS', HOLDS)) do
  local amount, wallet, key = string.match(text, '^%S+ (%S+) %S+ %S+ (%S+) (%S+)')
  add(held, wallet_key(wallet), amount)
  add(held, key_key(key), amount)
end
for _, text in ipairs(redis.call('HVALS', NOTES)) do
  local wallet, key, amount = string.match(text, '^(%S+) (%S+) (%S+)')
  add(noted, wallet_key(wallet), amount)
  add(noted, key_key(key), amount)
end
local wallets, keys, found = tonumber(ARGV[1]), tonumber(ARGV[2]), {}
for i = 3, 2 + wallets + keys do
  local name = i <= wallets + 2 and wallet_key(ARGV[i]) or key_key(ARGV[i])
  local f = redis.call('HMGET', name, 'funds', 'ver', 'held', 'unbooked')
  found[i - 2] = {f[1], f[2], f[3] or '0', f[4] or '0', int(held[name] or 0), int(noted[name] or 0)}
end
if #ARGV == 2 + wallets + keys then return found end
local counted = {}
each_counted(function(month, amount, names)
  for id in string.gmatch(names, '%S+') do
    counted[id] = counted[id] or {}
    add(counted[id], month, amount)
  end
end)
for i = 3 + wallets + keys, #ARGV do
  local fields, months, b = redis.call('HGETALL', budget_key(ARGV[i])), {}, {}
  for at = 1, #fields, 2 do
    b[fields[at]] = fields[at + 1]
    local month = string.match(fields[at], ' (.+)$')
    if month then months[month] = true end
  end
  for month in pairs(counted[ARGV[i]] or {}) do months[month] = true end
  local row = {redis.call('HGET', LIMITS, ARGV[i]) or '', b.ver or ''}
  for month in pairs(months) do
    row[#row + 1] = month
    row[#row + 1] = b['spent ' .. month] or '0'
    row[#row + 1] = b['open ' .. month] or '0'
    row[#row + 1] = int((counted[ARGV[i]] or {})[month] or 0)
  end
  found[#found + 1] = row
end
return found
