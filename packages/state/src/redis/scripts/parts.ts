/**
 * What the Lua scripts in this folder are put together from. Each is one atomic step on one shard. `KEYS[1]` is the shard's epoch key, which routes the script
 * on a cluster; the other names are built from its prefix, in the same slot. Amounts are integers below 2^53.
 *
 * Every step of a caller begins with ARGV: client, epoch, acked, lease until (`membership/membership.ts`), and answers
 * the number of the caller's steps first, negative where this was one, or `refused`, the reason and the shard's epoch.
 */

export const names = `
local P = string.sub(KEYS[1], 1, -6)
local HOLDS, NOTES, CLIENTS = P .. 'holds', P .. 'notes', P .. 'clients'
local function wallet_key(id) return P .. 'wallet:' .. id end
local function key_key(hash) return P .. 'key:' .. hash end
local function done_key(id) return P .. 'done:' .. id end
local function reaped_key(id) return P .. 'reaped:' .. id end
local function rate_key(hash) return P .. 'rate:' .. hash end
local function ticket_key(hash) return P .. 'ticket:' .. hash end
local function now_ms(given)
  if given ~= '' then return tonumber(given) end
  local t = redis.call('TIME')
  return t[1] * 1000 + math.floor(t[2] / 1000)
end
local function int(value) return string.format('%.0f', value) end
`;

/**
 * Whether the caller may take this step. Only reads, but for an epoch that ends because the shard has lost something:
 * an older one than the caller's, or one that forgot steps it had answered. Kinds: 'admit' and 'settle' need an open
 * epoch, 'project' any.
 */
export const guard = `
local function guard(kind)
  local e = redis.call('HMGET', KEYS[1], 'id', 'open')
  if not e[1] then return nil, {'refused', 'not_ready', 0} end
  local mine, theirs = tonumber(ARGV[2]), tonumber(e[1])
  if mine < theirs then return nil, {'refused', 'new_epoch', theirs} end
  if mine > theirs then
    redis.call('DEL', KEYS[1])
    return nil, {'refused', 'rolled_back', theirs}
  end
  local c = redis.call('HMGET', CLIENTS, ARGV[1] .. ' n', ARGV[1] .. ' lapsed')
  if c[2] then return nil, {'refused', 'lapsed', theirs} end
  if tonumber(c[1] or 0) < tonumber(ARGV[3]) then
    redis.call('DEL', KEYS[1])
    return nil, {'refused', 'rolled_back', theirs}
  end
  if kind == 'join' then return c[1], nil, e[2] == '1' end
  if not c[1] then return nil, {'refused', 'not_joined', theirs} end
  if kind ~= 'project' and e[2] ~= '1' then return nil, {'refused', 'not_open', theirs} end
  return tonumber(c[1]), nil, e[1]
end
local function count() return -redis.call('HINCRBY', CLIENTS, ARGV[1] .. ' n', 1) end
`;

/**
 * Takes a hold off its wallet and key. Deletes first: a Redis that is out of memory refuses only the first write of a
 * script, and ending a hold must go on there. A hold of a free route is 0, and '-0' is no integer.
 * A hold is `client amount tokens window wallet key ticket`, where `-` stands for no ticket.
 */
export const holds = `
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
  return h
end
local function place_hold(id, client, amount, tokens, window, wallet, key, ticket)
  redis.call('HSET', HOLDS, id, client .. ' ' .. amount .. ' ' .. tokens .. ' ' .. window .. ' ' .. wallet .. ' ' .. key .. ' ' .. ticket)
  redis.call('HINCRBY', wallet_key(wallet), 'held', amount)
  redis.call('HINCRBY', key_key(key), 'held', amount)
end
`;

/**
 * Tickets and rate limits. `read_mark` answers the key of a ticket that could be redeemed in this epoch, and the key's
 * generation where the mark has it. `read_rate` answers the present minute and what was used in it.
 */
export const rights = `
local function read_mark(hash, epoch)
  local mark = redis.call('GET', ticket_key(hash)) or ''
  local of_epoch, key, generation = string.match(mark, '^(%d+) %S+ (%S+) ?(%d*)$')
  if of_epoch ~= epoch then return nil end
  return key, generation ~= '' and generation or nil
end
local function read_rate(key, now)
  local window = math.floor(now / 60000)
  local r = redis.call('HMGET', rate_key(key), 'w', 'r', 't')
  if r[1] and tonumber(r[1]) == window then return window, tonumber(r[2]), tonumber(r[3]) end
  return window, 0, 0
end
local function rate_status(limit_requests, limit_tokens, now, window, requests, tokens)
  limit_requests, limit_tokens = tonumber(limit_requests or 0), tonumber(limit_tokens or 0)
  return limit_requests, math.max(0, limit_requests - requests), int(limit_tokens), int(math.max(0, limit_tokens - tokens)), (window + 1) * 60000 - now
end
`;

/** Notes of charges that are not booked yet, `wallet key amount` by hold id. */
export const notes = `
local function drop_note(id)
  local text = redis.call('HGET', NOTES, id)
  if not text then return end
  local wallet, key, amount = string.match(text, '^(%S+) (%S+) (%S+)$')
  redis.call('HDEL', NOTES, id)
  redis.call('HINCRBY', wallet_key(wallet), 'unbooked', '-' .. amount)
  redis.call('HINCRBY', key_key(key), 'unbooked', '-' .. amount)
end
local function place_note(id, wallet, key, amount)
  if amount == '0' or redis.call('HSETNX', NOTES, id, wallet .. ' ' .. key .. ' ' .. amount) == 0 then return end
  redis.call('HINCRBY', wallet_key(wallet), 'unbooked', amount)
  redis.call('HINCRBY', key_key(key), 'unbooked', amount)
end
`;

/**
 * For scripts that must go on in a Redis that is out of memory: it refuses only the first write of a script, unless
 * that deletes. What the settler does is what makes room again.
 */
export const spaceless = `
local function spaceless() redis.call('HDEL', CLIENTS, 'none') end
`;

/** Releases every hold whose holder is not among the living; what they come to may still be settled. */
export const releaseAbandoned = `
local function release_abandoned(alive)
  local released = 0
  for _, id in ipairs(redis.call('HKEYS', HOLDS)) do
    if not alive[read_hold(id).client] then
      local h = release(id)
      redis.call('SET', reaped_key(id), h.wallet .. ' ' .. h.key, 'PX', 86400000)
      released = released + 1
    end
  end
  return released
end
local function read_clients()
  local found, clients = redis.call('HGETALL', CLIENTS), {}
  for i = 1, #found, 2 do
    local client, field = string.match(found[i], '^(%S+) (%S+)$')
    clients[client] = clients[client] or {}
    clients[client][field] = tonumber(found[i + 1])
  end
  return clients
end
local function lapse(client, now)
  redis.call('HDEL', CLIENTS, client .. ' n', client .. ' until', client .. ' suspect')
  redis.call('HSET', CLIENTS, client .. ' lapsed', int(now))
end
`;
