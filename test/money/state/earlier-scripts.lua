-- The scripts of the version before this one, by name. Redis runs each behind the parts.
-- script: parts
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
-- script: mint
local n, refused, epoch = guard('admit')
if refused then return refused end
local w = redis.call('HMGET', wallet_key(ARGV[6]), 'funds', 'held', 'unbooked')
if not w[1] or redis.call('HGET', key_key(ARGV[7]), 'gen') ~= ARGV[10] then return {n, 'not_projected'} end
local available = tonumber(w[1]) - tonumber(w[2] or 0) - tonumber(w[3] or 0)
if available <= 0 and ARGV[9] ~= 'free' then return {n, 'insufficient', int(available)} end
redis.call('SET', ticket_key(ARGV[5]), epoch .. ' ' .. ARGV[6] .. ' ' .. ARGV[7], 'PX', ARGV[8], 'NX')
return {count(), 'minted'}
-- script: redeem
local n, refused, epoch = guard('admit')
if refused then return refused end
local now = now_ms(ARGV[5])
if tonumber(ARGV[4]) <= now then return {'refused', 'unleased', tonumber(epoch)} end
local by_ticket = ARGV[6] == 'ticket'
local hold_id, amount = ARGV[9], tonumber(ARGV[10])
if redis.call('EXISTS', done_key(hold_id)) == 1 then return {n, 'closed'} end

local keyhash = ARGV[7]
local repeated = read_hold(hold_id)
if repeated then
  keyhash = repeated.key
elseif by_ticket then
  local mark = redis.call('GET', ticket_key(ARGV[7]))
  local of_epoch, _, of_key = string.match(mark or '', '^(%d+) (%S+) (%S+)$')
  if of_epoch ~= epoch then return {n, 'invalid_ticket'} end
  keyhash = of_key
end

local k = redis.call('HMGET', key_key(keyhash), 'active', 'gen', 'wallet', 'funds', 'held', 'unbooked', 'lreq', 'ltok', 'rec')
local window = math.floor(now / 60000)
local r = redis.call('HMGET', rate_key(keyhash), 'w', 'r', 't')
local requests, tokens = 0, 0
if r[1] and tonumber(r[1]) == window then requests, tokens = tonumber(r[2]), tonumber(r[3]) end
local limit_requests, limit_tokens = tonumber(k[7] or 0), tonumber(k[8] or 0)
local reset = (window + 1) * 60000 - now
local function reply(result, detail)
  return {n, result, detail, limit_requests, math.max(0, limit_requests - requests), int(limit_tokens), int(math.max(0, limit_tokens - tokens)), reset}
end
if repeated then return reply('admitted', '') end

if not k[1] or k[1] ~= '1' then
  if by_ticket then return {n, 'invalid_ticket'} end
  return {n, 'unknown_key'}
end
if k[2] ~= ARGV[8] then
  if by_ticket then return {n, 'invalid_ticket'} end
  return {n, 'stale_key', k[9], k[2]}
end
local estimated = tonumber(ARGV[11])
if requests + 1 > limit_requests then return reply('rate_limited', 'requests') end
if tokens > 0 and tokens + estimated > limit_tokens then return reply('rate_limited', 'tokens') end

local w = redis.call('HMGET', wallet_key(k[3]), 'funds', 'held', 'unbooked')
if not w[1] then return {n, 'not_projected'} end
local is_free = ARGV[12] == 'free'
if not is_free and tonumber(w[1]) - tonumber(w[2] or 0) - tonumber(w[3] or 0) < amount then return reply('insufficient', 'wallet') end
if not is_free and k[4] and k[4] ~= '' and tonumber(k[4]) - tonumber(k[5] or 0) - tonumber(k[6] or 0) < amount then
  return reply('insufficient', 'key')
end

n = count()
if by_ticket then redis.call('SET', ticket_key(ARGV[7]), 'used:' .. hold_id, 'KEEPTTL') end
place_hold(hold_id, ARGV[1], ARGV[10], ARGV[11], int(window), k[3], keyhash, by_ticket and ARGV[7] or '-')
requests, tokens = requests + 1, tokens + estimated
redis.call('HSET', rate_key(keyhash), 'w', int(window), 'r', int(requests), 't', int(tokens))
redis.call('PEXPIRE', rate_key(keyhash), 120000)
return reply('admitted', '')
-- script: cancel
local n, refused, epoch = guard('settle')
if refused then return refused end
if redis.call('EXISTS', done_key(ARGV[5])) == 1 then return {n} end
local h = release(ARGV[5])
if h and h.ticket ~= '-' and redis.call('GET', ticket_key(h.ticket)) == 'used:' .. ARGV[5] then
  redis.call('SET', ticket_key(h.ticket), epoch .. ' ' .. h.wallet .. ' ' .. h.key, 'KEEPTTL')
end
redis.call('SET', done_key(ARGV[5]), 'cancelled', 'PX', ARGV[6])
return {count()}
-- script: settle
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

local n, refused, epoch = guard('settle')
if refused then return refused end
local id = ARGV[5]
local h = release(id)
if h then
  place_note(id, h.wallet, h.key, ARGV[6])
  local r = redis.call('HMGET', rate_key(h.key), 'w', 't')
  if r[1] and r[1] == h.window then
    redis.call('HSET', rate_key(h.key), 't', int(math.max(0, tonumber(r[2]) - tonumber(h.tokens) + tonumber(ARGV[7]))))
  end
else
  local reaped = redis.call('GET', reaped_key(id))
  if reaped then
    redis.call('DEL', reaped_key(id))
    local wallet, key = string.match(reaped, '^(%S+) (%S+)$')
    place_note(id, wallet, key, ARGV[6])
  end
end
redis.call('SET', done_key(id), 'settled', 'PX', ARGV[8], 'NX')
n = count()
if ARGV[9] == '' then return {n} end
return {n, redis.call('XADD', P .. 'stream', '*', 'p', ARGV[9], 'm', ARGV[10]), tonumber(epoch)}
-- script: leave
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

local n, refused = guard('project')
if refused then return refused end
lapse(ARGV[1], now_ms(ARGV[5]))
local alive = {}
for client, f in pairs(read_clients()) do
  if not f.lapsed then alive[client] = true end
end
release_abandoned(alive)
return {0}
