-- Removes a hold from its wallet, key and budgets. Deletes first, because a Redis that is out of memory refuses only
-- the first write of a script, and holds must still end there. A hold of a free route is 0, and '-0' is not an integer.
-- A hold is `client amount tokens window wallet key ticket month budgets`. `-` means no ticket, and `budgets` are names
-- with spaces between.
-- include budgets records

local function read_hold(id)
  local text = redis.call('HGET', HOLDS, id)
  if not text then return nil end
  local h = {}
  h.client, h.amount, h.tokens, h.window, h.wallet, h.key, h.ticket, h.month, h.budgets =
    string.match(text, '^(%S+) (%S+) (%S+) (%S+) (%S+) (%S+) (%S+) (%S+) (.*)$')
  return h
end
local function release(id)
  local h = read_hold(id)
  if not h then return nil end
  redis.call('HDEL', HOLDS, id)
  if h.amount ~= '0' then
    try('HINCRBY', wallet_key(h.wallet), 'held', '-' .. h.amount)
    try('HINCRBY', key_key(h.key), 'held', '-' .. h.amount)
    add_open(h.month, '-' .. h.amount, h.budgets)
  end
  rest(h.key)
  raise()
  return h
end
local function write_hold(id, client, amount, tokens, window, wallet, key, ticket, month, budgets)
  redis.call('HSET', HOLDS, id, table.concat({client, amount, tokens, window, wallet, key, ticket, month, budgets or ''}, ' '))
  try('HINCRBY', wallet_key(wallet), 'held', amount)
end
local function place_hold(id, client, amount, tokens, window, wallet, key, ticket, month, budgets)
  write_hold(id, client, amount, tokens, window, wallet, key, ticket, month, budgets)
  try('HINCRBY', key_key(key), 'held', amount)
  add_open(month, amount, budgets)
  rest(key)
  raise()
end
