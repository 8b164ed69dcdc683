-- Removes a hold from its wallet, key and budgets. Deletes first, because a Redis that is out of memory refuses only
-- the first write of a script, and holds must still end there. A hold of a free route is 0, and '-0' is not an integer.
-- A hold is `client amount tokens window wallet key ticket`, and `-` means no ticket.
-- include budgets records

local function read_hold(id)
  local text = redis.call('HGET', HOLDS, id)
  if not text then return nil end
  local h = {}
  h.client, h.amount, h.tokens, h.window, h.wallet, h.key, h.ticket = string.match(text, '^(%S+) (%S+) (%S+) (%S+) (%S+) (%S+) (%S+)$')
  return h
end
local function release(id)
  local h = read_hold(id)
  if not h then return nil end
  redis.call('HDEL', HOLDS, id)
  if h.amount ~= '0' then
    redis.call('HINCRBY', wallet_key(h.wallet), 'held', '-' .. h.amount)
    redis.call('HINCRBY', key_key(h.key), 'held', '-' .. h.amount)
  end
  h.month, h.budgets = uncount('hold ' .. id)
  rest(h.key)
  return h
end
local function write_hold(id, client, amount, tokens, window, wallet, key, ticket, month, ids, present)
  redis.call('HSET', HOLDS, id, client .. ' ' .. amount .. ' ' .. tokens .. ' ' .. window .. ' ' .. wallet .. ' ' .. key .. ' ' .. ticket)
  redis.call('HINCRBY', wallet_key(wallet), 'held', amount)
  count_in('hold ' .. id, month, amount, ids, present)
end
local function place_hold(id, client, amount, tokens, window, wallet, key, ticket, month, ids)
  write_hold(id, client, amount, tokens, window, wallet, key, ticket, month, ids)
  redis.call('HINCRBY', key_key(key), 'held', amount)
  rest(key)
end
